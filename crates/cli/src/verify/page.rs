//! The report as one file that needs nothing else: a page with a picture, or the picture alone.

use std::fmt::Write as _;

use super::bounds::Bound;
use super::report::{Part, Report, grouped, millis};

const STYLE: &str = "\
:root{--ink:#1c2128;--quiet:#667085;--paper:#fbfaf7;--card:#fff;--line:#e4e1d8;--good:#18794e;--bad:#b42318;--bar:#3b5bdb}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e4de;--quiet:#98a2b3;--paper:#15171a;--card:#1d2024;--line:#33373d;\
--good:#4cc38a;--bad:#ff6b5e;--bar:#7b93ff}}\
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\
main{max-width:60rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}h1{font-size:2rem;line-height:1.2;margin:0 0 .25rem}\
h2{font-size:1.15rem;margin:0 0 1rem;display:flex;justify-content:space-between;gap:1rem}h2 small{color:var(--quiet);font-weight:400}\
p{margin:.25rem 0;color:var(--quiet)}.good{color:var(--good)}.bad{color:var(--bad)}\
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:1.5rem;margin-top:1.5rem}\
table{border-collapse:collapse;width:100%;margin-top:1rem;font-variant-numeric:tabular-nums}\
th{font-weight:400;color:var(--quiet);text-align:left;font-size:.85rem}td,th{padding:.3rem .5rem .3rem 0;vertical-align:top;\
border-bottom:1px solid var(--line)}td.n,th.n{text-align:right;white-space:nowrap;padding-right:1rem}tr:last-child td{border:0}\
.wide{overflow-x:auto}svg{display:block;max-width:100%;height:auto}ul{margin:1rem 0 0;padding-left:1.2rem}\
svg text{font:12px system-ui,sans-serif;fill:var(--quiet)}svg .title{font-size:20px;font-weight:600;fill:var(--ink)}\
svg .ink{fill:var(--ink)}svg .good{fill:var(--good)}svg .bad{fill:var(--bad)}";

const WIDTH: usize = 960;
const ROW: usize = 22;

pub fn html(report: &Report) -> String {
    let mut body = format!(
        "<h1 class=\"{}\">{}</h1><p>deltaci {} · seed {} · {}</p>",
        tone(report),
        verdict(report),
        report.version,
        report.seed,
        report.parts.iter().map(|part| escaped(&part.name)).collect::<Vec<_>>().join(" · "),
    );
    report.parts.iter().for_each(|part| body += &section(part));
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>deltaci verify: {}</title><style>{STYLE}</style><main>{body}</main></html>\n",
        verdict(report)
    )
}

fn section(part: &Part) -> String {
    let took = part.took.as_secs_f64();
    let mut text =
        format!("<section><h2><span>{}</span><small>{took:.0} s</small></h2>", escaped(&part.name));
    if let Some(picture) = &part.picture {
        text += &format!("<div class=\"wide\">{}</div>", picture.svg);
    }
    text += "<table><tr><th class=\"n\">how often</th><th>what</th></tr>";
    for (what, count) in &part.tried {
        let _ = write!(text, "<tr><td class=\"n\">{}</td><td>{}</td></tr>", grouped(*count), escaped(what));
    }
    text += "</table>";
    if !part.measured.is_empty() {
        text += "<table><tr><th>from … until</th><th class=\"n\">seen</th><th class=\"n\">half within</th>\
                 <th class=\"n\">all within</th><th>with</th></tr>";
        part.measured.iter().for_each(|bound| text += &bound_row(bound));
        text += "</table>";
    }
    if part.found.is_empty() {
        text += "<p class=\"good\">Nothing was found.</p>";
    } else {
        text += "<ul class=\"bad\">";
        part.found.iter().for_each(|found| text += &format!("<li>{}</li>", escaped(found)));
        text += "</ul>";
    }
    text + "</section>"
}

fn bound_row(bound: &Bound) -> String {
    format!(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
        escaped(bound.what),
        bound.count,
        millis(bound, bound.p50_ms),
        millis(bound, bound.max_ms),
        escaped(&bound.depends_on),
    )
}

/// The picture alone: the verdict, the counts of each part, and how it went.
pub fn svg(report: &Report) -> String {
    let mut body = format!(
        "<text x=\"16\" y=\"34\" class=\"title {}\">{}</text><text x=\"16\" y=\"54\">deltaci {} · seed {}</text>",
        tone(report),
        verdict(report),
        report.version,
        report.seed
    );
    let mut y = 84;
    for part in &report.parts {
        let _ = write!(body, "<text x=\"16\" y=\"{y}\" class=\"ink\">{}</text>", escaped(&part.name));
        y += ROW;
        for (what, count) in &part.tried {
            let _ = write!(
                body,
                "<text x=\"110\" y=\"{y}\" text-anchor=\"end\" class=\"ink\">{}</text><text x=\"122\" y=\"{y}\">{}</text>",
                grouped(*count),
                escaped(what)
            );
            y += ROW;
        }
        for bound in &part.measured {
            let _ = write!(
                body,
                "<text x=\"110\" y=\"{y}\" text-anchor=\"end\" class=\"ink\">≤ {}</text><text x=\"122\" y=\"{y}\">{} ({} times)</text>",
                millis(bound, bound.max_ms),
                escaped(bound.what),
                bound.count
            );
            y += ROW;
        }
        for found in &part.found {
            let _ = write!(body, "<text x=\"16\" y=\"{y}\" class=\"bad\">{}</text>", escaped(found));
            y += ROW;
        }
        if let Some(picture) = &part.picture {
            let _ = write!(body, "<g transform=\"translate(0 {y})\">{}</g>", picture.svg);
            y += picture.height;
        }
        y += ROW;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" width=\"{WIDTH}\" height=\"{y}\"><style>{STYLE}</style>\
         <rect width=\"{WIDTH}\" height=\"{y}\" fill=\"var(--paper)\"/>{body}</svg>\n"
    )
}

fn verdict(report: &Report) -> String {
    match report.findings() {
        0 => "Every promise held".into(),
        1 => "One promise was broken".into(),
        count => format!("{count} findings"),
    }
}

fn tone(report: &Report) -> &'static str {
    if report.healthy { "good" } else { "bad" }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
