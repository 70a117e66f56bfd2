#!/usr/bin/python3
"""Plays the panel and the notification service of a desktop on the session bus, for tests.

Reads one JSON request a line from standard input and answers each with one JSON line. Run with the system's python3, which has
the D-Bus and GLib modules. Requests, by "do":
  item           waits for a tray icon; its properties
  menu           the tray's menu: [{"text", "enabled", "items"}]
  click          "path": texts from the top of the menu down
  icon           "folder": which of its pictures the tray shows
  notifications  bodies of the notifications so far
  leave, return  the panel goes, and comes back
  close          "window": asks a window to close, as the button on its frame would
"""

import ctypes
import json
import pathlib
import sys
import time

import dbus
import dbus.mainloop.glib
import dbus.service
import gi

gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf, GLib  # noqa: E402

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
NOTIFICATIONS = "org.freedesktop.Notifications"
WAIT_S = 20

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()


class Watcher(dbus.service.Object):
    """Where tray icons register."""

    def __init__(self):
        super().__init__(bus, "/StatusNotifierWatcher")
        self.items = []

    @dbus.service.method(WATCHER, in_signature="s", sender_keyword="sender")
    def RegisterStatusNotifierItem(self, service, sender=None):
        item = (sender, service) if service.startswith("/") else (service, "/StatusNotifierItem")
        self.items.append(item)
        self.StatusNotifierItemRegistered("".join(item))

    @dbus.service.method(WATCHER, in_signature="s")
    def RegisterStatusNotifierHost(self, service):
        pass

    @dbus.service.signal(WATCHER, signature="s")
    def StatusNotifierItemRegistered(self, item):
        pass

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return self.GetAll(interface)[name]

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return {
            "IsStatusNotifierHostRegistered": True,
            "ProtocolVersion": dbus.Int32(0),
            "RegisteredStatusNotifierItems": dbus.Array(["".join(item) for item in self.items], "s"),
        }


class Notifications(dbus.service.Object):
    """Keeps what it is to show."""

    def __init__(self):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.bodies = []

    @dbus.service.method(NOTIFICATIONS, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, expires):
        self.bodies.append(str(body))
        return dbus.UInt32(len(self.bodies))

    @dbus.service.method(NOTIFICATIONS, out_signature="as")
    def GetCapabilities(self):
        return ["body"]

    @dbus.service.method(NOTIFICATIONS, out_signature="ssss")
    def GetServerInformation(self):
        return ("test", "test", "1", "1.2")

    @dbus.service.method(NOTIFICATIONS, in_signature="u")
    def CloseNotification(self, number):
        pass


def wait_for(condition, what):
    context = GLib.MainContext.default()
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        context.iteration(False)
        time.sleep(0.005)


def alive(name):
    return bool(name) and bus.name_has_owner(name)


class Tray:
    def __init__(self):
        self.name = None
        self.watcher = None
        self.come()

    def come(self):
        self.name = dbus.service.BusName(WATCHER, bus)
        self.watcher = self.watcher or Watcher()

    def leave(self):
        bus.release_name(WATCHER)
        self.name = None
        self.watcher.items.clear()

    def item(self):
        """The newest icon whose process lives."""

        def there():
            self.watcher.items = [item for item in self.watcher.items if alive(item[0])]
            return self.watcher.items

        wait_for(there, "no tray icon")
        service, path = self.watcher.items[-1]
        return service, dbus.Interface(bus.get_object(service, path), dbus.PROPERTIES_IFACE).GetAll(ITEM)

    def layout(self):
        service, properties = self.item()
        menu = dbus.Interface(bus.get_object(service, properties["Menu"]), MENU)
        menu.AboutToShow(0)
        return menu, menu.GetLayout(0, -1, dbus.Array([], "s"))[1]

    def menu(self):
        def entry(node):
            _, properties, children = node
            if properties.get("type") == "separator":
                return None
            return {
                "text": label(properties),
                "enabled": bool(properties.get("enabled", True)),
                "items": entries(children),
            }

        def entries(nodes):
            return [it for it in map(entry, nodes) if it and it["text"]]

        return entries(self.layout()[1][2])

    def click(self, path):
        menu, node = self.layout()
        for text in path:
            found = [child for child in node[2] if label(child[1]) == text]
            if not found:
                raise LookupError(f"{text}: not among {[label(child[1]) for child in node[2]]}")
            node = found[0]
        menu.Event(node[0], "clicked", dbus.String("", variant_level=1), dbus.UInt32(0))

    def icon(self, folder):
        shown = pixels(self.item()[1]["IconName"])
        names = [file.stem for file in sorted(pathlib.Path(folder).glob("*-48.png")) if pixels(file) == shown]
        return names[0] if names else None


def label(properties):
    """A single underscore marks a letter, two are one."""
    return str(properties.get("label", "")).replace("__", "\0").replace("_", "").replace("\0", "_")


def pixels(file):
    picture = GdkPixbuf.Pixbuf.new_from_file(str(file))
    return picture.get_width(), picture.get_pixels()


class ClientMessage(ctypes.Structure):
    """XClientMessageEvent, in the size of the union XEvent."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
        ("rest", ctypes.c_long * 12),
    ]


def close(window):
    """There is no window manager that would send this."""
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = ctypes.c_ulong
    display = ctypes.c_void_p(x11.XOpenDisplay(None))
    protocols, delete = (x11.XInternAtom(display, name, 0) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW"))
    client_message, bits = 33, 32
    event = ClientMessage(client_message, 0, 1, display, window, protocols, bits, (ctypes.c_long * 5)(delete))
    x11.XSendEvent(display, ctypes.c_ulong(window), 0, ctypes.c_long(0), ctypes.byref(event))
    x11.XCloseDisplay(display)


tray = Tray()
notifications_name = dbus.service.BusName(NOTIFICATIONS, bus)
notifications = Notifications()
loop = GLib.MainLoop()


def answer(request):
    match request["do"]:
        case "item":
            return {key: str(value) for key, value in tray.item()[1].items() if key != "IconPixmap"}
        case "menu":
            return tray.menu()
        case "click":
            return tray.click(request["path"])
        case "icon":
            return tray.icon(request["folder"])
        case "notifications":
            return notifications.bodies
        case "leave":
            return tray.leave()
        case "return":
            return tray.come()
        case "close":
            return close(request["window"])
        case other:
            raise LookupError(other)


def read(_source, _condition):
    line = sys.stdin.readline()
    if not line:
        loop.quit()
        return False
    try:
        reply = {"result": answer(json.loads(line))}
    except Exception as error:  # whatever it is, the test is told
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), flush=True)
    return True


print(json.dumps({"result": "there"}), flush=True)
GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, read)
loop.run()
