//! A runner behind a wall of the kernel's: a network namespace with one way out, which can be taken down. For root.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

pub struct Walled {
    name: String,
    link: String,
    /// Our end of the way out.
    pub outside: IpAddr,
}

impl Walled {
    /// The names hold our process's id, so that nobody else's are touched.
    pub fn build(place: usize) -> Result<Walled> {
        let own = std::process::id();
        let (name, link) = (format!("deltaci-{own}-{place}"), format!("dci{}v{place}", own % 1_000_000));
        let net = [10, 213, (own % 250) as u8, (place * 4) as u8];
        let address = |last: u8| Ipv4Addr::new(net[0], net[1], net[2], net[3] + last);
        let (outside, inside) = (format!("{}/30", address(1)), format!("{}/30", address(2)));
        let walled = Walled { name: name.clone(), link: link.clone(), outside: IpAddr::V4(address(1)) };
        ip(&["netns", "add", &name])?;
        ip(&["link", "add", &link, "type", "veth", "peer", "name", "out", "netns", &name])?;
        ip(&["addr", "add", &outside, "dev", &link])?;
        ip(&["link", "set", &link, "up"])?;
        ip(&["-n", &name, "addr", "add", &inside, "dev", "out"])?;
        ip(&["-n", &name, "link", "set", "out", "up"])?;
        ip(&["-n", &name, "link", "set", "lo", "up"])?;
        Ok(walled)
    }

    /// What stands before a program that is started inside.
    pub fn within(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(String::from).into()
    }

    pub fn set_cut(&self, cut: bool) -> Result<()> {
        ip(&["link", "set", &self.link, if cut { "down" } else { "up" }])
    }
}

impl Drop for Walled {
    fn drop(&mut self) {
        let _ = ip(&["link", "del", &self.link]); // what was not made cannot be removed
        let _ = ip(&["netns", "del", &self.name]);
    }
}

fn ip(words: &[&str]) -> Result<()> {
    let mut command = Command::new("ip");
    command.args(words).stdin(Stdio::null());
    let output = command.output().context("network namespaces need the program `ip`")?;
    if !output.status.success() {
        bail!("ip {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
