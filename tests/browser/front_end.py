"""A Jupyter server and pages of it, driven as a person would: JupyterLab and Notebook 7 in Chromium, with no way out."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import URLError

import nbformat

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
NOISE = (
    "reading 'schema'",  # Notebook 7.6
    "filebrowser:open-path",
    "[yjs#509]",
    "favicon",
    "net::ERR_NAME_NOT_RESOLVED",  # what the front end itself asks of the outside: it is told no
    "net::ERR_ABORTED",
)


class Server:
    """One server for JupyterLab and Notebook 7, with nothing of the user's."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.notebooks = self.folder / "notebooks"
        self.home = self.folder / "nbcontext"
        self.notebooks.mkdir(parents=True)
        settings = self.folder / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        quiet = {"fetchNews": "false", "checkForUpdates": False}
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "VSCODE", "NBCONTEXT"))},
            **{f"JUPYTER_{name}_DIR": str(self.folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")},
            "IPYTHONDIR": str(self.folder / "ipython"),
            "HOME": str(self.folder),
            "NBCONTEXT_HOME": str(self.home),
            "JUPYTERLAB_SETTINGS_DIR": str(self.folder / "lab" / "user-settings"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (self.folder / "server.log").open("wb")
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={self.port}"]
        command += [f"--ServerApp.root_dir={self.notebooks}", "--IdentityProvider.token=", "--ServerApp.password="]
        command += ["--ServerApp.disable_check_xsrf=True", "--ServerApp.ip=127.0.0.1"]
        command += ["--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True"]
        command += ["--LabApp.extension_manager=readonly", "--LabApp.news_url=", "--LabApp.collaborative=False"]
        self._process = subprocess.Popen(
            command, env=self.environment, stdout=self._log, stderr=self._log, stdin=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while True:
            try:
                self.api("api/status")
                break
            except (URLError, ConnectionError):
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError((self.folder / "server.log").read_text()[-2000:]) from None
                time.sleep(0.1)

    def api(self, path, method="GET"):
        request = urllib.request.Request(f"{self.url}/{path}", method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def end_kernels(self):
        for session in self.api("api/sessions"):
            self.api(f"api/sessions/{session['id']}", "DELETE")

    def write(self, name, *cells):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
        nbformat.write(book, self.notebooks / name)

    def saved(self, name):
        return nbformat.read(self.notebooks / name, as_version=4)

    def close(self):
        self.end_kernels()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class Front:
    """A notebook in a front end."""

    def __init__(self, browser, server, name, ui, *, theme=None):
        self.server, self.ui, self.name = server, ui, name
        self.errors, self.outside, self.bytes, self.messages = [], [], 0, 0
        self.context = browser.new_context(viewport={"width": 1280, "height": 1000})
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("console", lambda message: message.type == "error" and self._error(message.text))
        self.page.on("pageerror", lambda error: self._error(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._frame))
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.open()
        if theme:
            self.theme(theme)

    def open(self):
        path = f"lab/tree/{self.name}?reset" if self.ui == "lab" else f"notebooks/{self.name}"
        self.page.goto(f"{self.server.url}/{path}")
        self.page.wait_for_function(
            """() => {
              const app = window.jupyterapp, widget = app && app.shell.currentWidget;
              const context = widget && widget.context;
              if (!context || !context.isReady || !context.sessionContext.isReady) return false;
              const kernel = context.sessionContext.session && context.sessionContext.session.kernel;
              return Boolean(kernel && kernel.status === "idle" && kernel.connectionStatus === "connected");
            }""",
            timeout=60_000,
        )

    def theme(self, name):
        self.command("apputils:change-theme", {"theme": name})
        self.page.wait_for_function("(name) => document.body.dataset.jpThemeName === name", arg=name)

    def command(self, name, arguments=None):
        return self.page.evaluate("([name, a]) => window.jupyterapp.commands.execute(name, a || {})", [name, arguments])

    def start(self, cell):
        """Begin to run a cell, from 0."""
        self.page.evaluate(
            """(at) => {
              const notebook = window.jupyterapp.shell.currentWidget.content;
              notebook.activeCellIndex = at;
              notebook.deselectAll();
              window.nbRun = window.jupyterapp.commands.execute("notebook:run-cell").then(() => { window.nbRan = at; });
              window.nbRan = -1;
            }""",
            cell,
        )

    def wait(self, cell, seconds=60):
        """Wait until it has run; an error in it ends the test at once."""
        self.page.wait_for_function("(at) => window.nbRan === at", arg=cell, timeout=seconds * 1000)
        found = self.page.evaluate(
            """(at) => {
              const cell = window.jupyterapp.shell.currentWidget.content.widgets[at];
              return cell.model.outputs.toJSON().filter((o) => o.output_type === "error").map((o) => o.ename + ": " + o.evalue);
            }""",
            cell,
        )
        assert not found, found

    def run(self, *cells):
        for cell in cells:
            self.start(cell)
            self.wait(cell)

    def save(self):
        self.command("docmanager:save")
        self.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
        return self.server.saved(self.name)

    def kernel_does(self, code):
        """Run code in the kernel that is in no cell."""
        return self.page.evaluate(
            """async (code) => {
              const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
              const future = kernel.requestExecute({ code });
              let text = "";
              future.onIOPub = (m) => { if (m.header.msg_type === "stream") text += m.content.text; if (m.header.msg_type === "error") text += m.content.evalue; };
              await future.done;
              return text;
            }""",
            code,
        )

    def shot(self, file, selector=".nbcontext"):
        self.page.locator(selector).last.screenshot(path=str(file))

    def axe(self, selector=".nbcontext"):
        """Return axe-core's violations within the views."""
        import axe_playwright_python

        script = Path(axe_playwright_python.__file__).parent / "axe.min.js"
        self.page.evaluate(script.read_text(encoding="utf-8"))
        found = self.page.evaluate("(s) => axe.run(document.querySelector(s).parentElement)", selector)
        return [(v["id"], v["impact"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found["violations"]]

    def end(self):
        self.context.close()
        self.server.end_kernels()

    def _error(self, text):
        if not any(noise in text for noise in NOISE):
            self.errors.append(text)

    def _asked(self, url):
        if not url.startswith((self.server.url, self.server.url.replace("http", "ws"), "data:", "blob:", "about:")):
            self.outside.append(url)

    def _frame(self, payload):
        self.messages += 1
        self.bytes += len(payload)


def _free_port():
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
