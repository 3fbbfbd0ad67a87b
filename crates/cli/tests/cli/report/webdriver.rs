//! A browser controlled through chromedriver, with the part of the WebDriver protocol that the test
//! needs, over plain HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// Arguments of the browser: no window, no network access.
const BROWSER: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1280,1400",
];

/// Longest wait for a response.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser of one test, which ends when the value is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts chromedriver (`$CHROMEDRIVER`, or the one on the path) and a browser with its profile
    /// in `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
        let mut driver = Command::new(&program)
            .args(["--port=0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "THE REPORT WAS NOT TESTED IN A BROWSER: cannot start {program} ({error}). \
                     Install Chromium with its chromedriver, or name one in $CHROMEDRIVER."
                )
            });
        let port = port(driver.stdout.take().expect("a pipe"));
        let mut browser = Self { driver, port, session: String::new() };
        let profile = folder.join("profile");
        let mut arguments: Vec<String> = BROWSER.iter().map(|&a| a.to_owned()).collect();
        arguments.push(format!("--user-data-dir={}", profile.display()));
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": { "args": arguments },
        } } });
        let answer = browser.call("POST", "/session", &capabilities);
        answer["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        browser
    }

    /// Opens a file.
    pub(crate) fn open(&self, file: &Path) {
        // A URL may contain every byte as an escape.
        let escaped: String = file
            .to_string_lossy()
            .bytes()
            .map(|b| if b == b'/' { "/".to_owned() } else { format!("%{b:02X}") })
            .collect();
        self.command("url", &json!({ "url": format!("file://{escaped}") }));
    }

    /// Runs a script in the page; returns the script's result.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Clicks the element that a selector matches.
    pub(crate) fn click(&self, selector: &str) {
        let id = self.element(selector);
        self.command(&format!("element/{id}/click"), &json!({}));
    }

    /// Types keys into the element that a selector matches.
    pub(crate) fn keys(&self, selector: &str, keys: &str) {
        let id = self.element(selector);
        self.command(&format!("element/{id}/value"), &json!({ "text": keys }));
    }

    /// Emulates a mobile screen of this size.
    pub(crate) fn screen(&self, width: u32, height: u32) {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 2, "mobile": true });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": params });
        self.command("goog/cdp/execute", &command);
    }

    fn element(&self, selector: &str) -> String {
        let found = self.command("element", &json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().and_then(|o| o.values().next()).and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("no element {selector}")).to_owned()
    }

    fn command(&self, command: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{command}", self.session), body)
    }

    /// Sends a request; returns the value of the response, which must not be an error.
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.request(method, path, body).expect("chromedriver answers");
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer["value"].clone()
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> std::io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = body.to_string();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        )?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split_whitespace().nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok((status, serde_json::from_slice(&answer)?))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser; the driver ends even if that fails.
        let _ = self.request("DELETE", &format!("/session/{}", self.session), &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Returns the port on which chromedriver listens, according to its output.
fn port(output: impl Read + Send + 'static) -> u16 {
    let mut lines = BufReader::new(output).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("started successfully on port ")?;
        rest.trim_end_matches('.').trim().parse().ok()
    });
    // Later output has to be read, so that the driver does not block.
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("chromedriver says its port")
}
