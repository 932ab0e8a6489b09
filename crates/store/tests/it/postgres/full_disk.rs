//! A database's disk without room: nothing more is acknowledged, nothing acknowledged is lost, and it goes on when there is
//! room. The server's own log is elsewhere, as it should be.

use std::fs;
use std::os::unix::fs::MetadataExt;

use store::{Postgres, Store};

use crate::commands::submit;
use crate::desk::Desk;
use crate::small_disk::{SmallDisk, fill_up, is_unavailable};
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
        for number in 1..=20 {
            let again = desk.perform([submit(1_000_000 + number)]).await;
            assert!(again.is_ok() || is_unavailable(&again.unwrap_err()), "it stays at that");
        }
        let full_up = desk.contents().await; // reading still works
        assert!(full_up.jobs.len() as u128 >= last && full_up.problems().is_empty());
        let looking = Desk::at(Postgres::open_existing(&url).await.unwrap());
        assert_eq!(looking.contents().await, full_up, "nothing acknowledged is lost");

        fs::remove_file(&ballast).unwrap();
        let (further, _) = fill_up(&desk, 3_000_000).await;
        assert!(further > 3_000_000 + 10, "with room it goes on");
        assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
        assert_eq!(desk.store.integrity().await, Ok(vec![]));
        drop((desk, looking));
        database.drop().await;
        server.batch_execute(&format!("DROP TABLESPACE {small}")).await.unwrap();
    });
}
