//! A database's disk without room: nothing more is acknowledged, nothing acknowledged is lost, and it goes on when there is
//! room. The server's own log is elsewhere, as it should be.

use std::fs;
use std::os::unix::fs::MetadataExt;

use store::Postgres;

use crate::desk::Desk;
use crate::small_disk::{SmallDisk, fill_up, goes_on, is_unavailable, stays_full};
use crate::stores::{Database, block_on, connect};

/// Without the right to mount there is nothing to try.
#[test]
fn a_full_disk_stops_the_work_until_there_is_room() {
    block_on(async {
        let address = std::env::var("DELTACI_TEST_POSTGRES").expect("as for all of these tests");
        let server = connect(&address).await;
        let backend: i32 = server.query_one_scalar("SELECT pg_backend_pid()", &[]).await.unwrap();
        let Ok(process) = fs::metadata(format!("/proc/{backend}")) else { return }; // a server elsewhere
        let options = format!("size=24m,uid={},gid={},mode=700", process.uid(), process.gid());
        let Some(disk) = SmallDisk::mount(&options) else { return };
        let (place, ballast) = (disk.join("tables"), disk.join("ballast"));
        fs::create_dir(&place).unwrap();
        std::os::unix::fs::chown(&place, Some(process.uid()), Some(process.gid())).unwrap();
        fs::write(&ballast, vec![0; 8_000_000]).unwrap();
        let small = format!("deltaci_small_{}", std::process::id());
        let place = place.display();
        server.batch_execute(&format!("CREATE TABLESPACE {small} LOCATION '{place}'")).await.unwrap();

        let database = Database::make().await;
        let url = format!("{}%20-cdefault_tablespace%3D{small}", database.url);
        let desk = Desk::at(Postgres::open(&url).await.unwrap()).open().await;
        let (last, full) = fill_up(&desk, 1).await;
        assert!(is_unavailable(&full), "{full:?}");
        assert!(last > 100, "there was room for {last}");
        let full_up = stays_full(&desk, last).await;
        let looking = Desk::at(Postgres::open_existing(&url).await.unwrap());
        assert_eq!(looking.contents().await, full_up, "nothing acknowledged is lost");

        fs::remove_file(&ballast).unwrap();
        goes_on(&desk).await;
        drop((desk, looking));
        database.drop().await;
        server.batch_execute(&format!("DROP TABLESPACE {small}")).await.unwrap();
    });
}
