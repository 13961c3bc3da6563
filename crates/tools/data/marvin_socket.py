"""Add-on of Blender through which Marvin reads and changes the open scene.

It listens on 127.0.0.1 only. A request is one line of JSON, {"type": ..., "params": {...}, "token": ...}; so is the answer,
{"status": "success", "result": ...} or {"status": "error", "message": ...}. The token lies beside this file and must be in
every request, so that no other user, program or web page can use the port.

Sockets are served by threads; Blender's data is touched by the main thread only, from a timer. `serve()` takes the place of
the timer where Blender has no window: blender --background --python marvin_socket.py
"""

bl_info = {
    "name": "Marvin",
    "author": "The Marvin project",
    "version": (1, 0, 0),
    "blender": (3, 4, 0),
    "location": "127.0.0.1:9876",
    "description": "Lets Marvin read and change the scene",
    "category": "System",
}

import base64
import contextlib
import hmac
import io
import json
import os
import queue
import socket
import tempfile
import threading
import traceback

import bpy

HOST = "127.0.0.1"
DEFAULT_PORT = 9876
MAX_REQUEST_BYTES = 1024 * 1024
MAX_OUTPUT_CHARS = 100_000
MAX_LISTED_OBJECTS = 200
ANSWER_TIMEOUT_SECONDS = 600
IDLE_TIMEOUT_SECONDS = 60
POLL_SECONDS = 0.05
RENDER_SAMPLES = 4


class WrongRequest(Exception):
    """A request that cannot be carried out; its text is the answer."""


def numbers(params, key, length, default=None):
    value = params.get(key)
    if value is None:
        return default
    is_list = isinstance(value, list) and len(value) == length
    if not is_list or any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in value):
        raise WrongRequest(f"`{key}` must be {length} numbers")
    return [float(one) for one in value]


def find_object(params):
    name = params.get("name")
    if not isinstance(name, str) or name not in bpy.data.objects:
        known = ", ".join(sorted(one.name for one in bpy.data.objects)[:20])
        raise WrongRequest(f"no such object: `{name}`; objects: {known or 'none'}")
    return bpy.data.objects[name]


def rounded(vector):
    return [round(float(one), 4) for one in vector]


def describe(one):
    return {
        "name": one.name,
        "type": one.type,
        "location": rounded(one.location),
        "rotation": rounded(one.rotation_euler),
        "scale": rounded(one.scale),
        "visible": not one.hide_viewport,
        "materials": [slot.material.name for slot in one.material_slots if slot.material],
    }


def get_scene(_params):
    scene = bpy.context.scene
    objects = list(scene.objects)
    return {
        "name": scene.name,
        "blender": bpy.app.version_string,
        "frame": scene.frame_current,
        "object_count": len(objects),
        "material_count": len(bpy.data.materials),
        "objects": [describe(one) for one in objects[:MAX_LISTED_OBJECTS]],
    }


def get_object(params):
    one = find_object(params)
    facts = describe(one)
    facts["dimensions"] = rounded(one.dimensions)
    facts["parent"] = one.parent.name if one.parent else ""
    if one.type == "MESH":
        facts["vertices"] = len(one.data.vertices)
        facts["edges"] = len(one.data.edges)
        facts["faces"] = len(one.data.polygons)
    return facts


MESHES = {
    "CUBE": "primitive_cube_add",
    "SPHERE": "primitive_uv_sphere_add",
    "UV_SPHERE": "primitive_uv_sphere_add",
    "ICO_SPHERE": "primitive_ico_sphere_add",
    "CYLINDER": "primitive_cylinder_add",
    "CONE": "primitive_cone_add",
    "PLANE": "primitive_plane_add",
    "CIRCLE": "primitive_circle_add",
    "GRID": "primitive_grid_add",
    "TORUS": "primitive_torus_add",
    "MONKEY": "primitive_monkey_add",
}
LIGHTS = {"LIGHT": "POINT", "POINT_LIGHT": "POINT", "SUN": "SUN", "SPOT": "SPOT", "AREA": "AREA"}


def create_object(params):
    kind = str(params.get("type", "")).strip().upper().replace(" ", "_").replace("-", "_")
    location = numbers(params, "location", 3, [0.0, 0.0, 0.0])
    rotation = numbers(params, "rotation", 3, [0.0, 0.0, 0.0])
    scale = numbers(params, "scale", 3, [1.0, 1.0, 1.0])
    if kind in MESHES:
        getattr(bpy.ops.mesh, MESHES[kind])(location=location)
        one = bpy.context.active_object
    elif kind in LIGHTS:
        one = bpy.data.objects.new(kind.title(), bpy.data.lights.new(kind.title(), LIGHTS[kind]))
        bpy.context.scene.collection.objects.link(one)
    elif kind == "CAMERA":
        one = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        bpy.context.scene.collection.objects.link(one)
        bpy.context.scene.camera = bpy.context.scene.camera or one
    elif kind == "EMPTY":
        one = bpy.data.objects.new("Empty", None)
        bpy.context.scene.collection.objects.link(one)
    else:
        known = ", ".join([*MESHES, *LIGHTS, "CAMERA", "EMPTY"])
        raise WrongRequest(f"no such type: `{kind}`; types: {known}")
    one.location, one.rotation_euler, one.scale = location, rotation, scale
    if params.get("name"):
        one.name = str(params["name"])
    return describe(one)


def modify_object(params):
    one = find_object(params)
    for key, attribute in (("location", "location"), ("rotation", "rotation_euler"), ("scale", "scale")):
        value = numbers(params, key, 3)
        if value is not None:
            setattr(one, attribute, value)
    return describe(one)


def delete_object(params):
    one = find_object(params)
    facts = describe(one)
    bpy.data.objects.remove(one, do_unlink=True)
    return facts


def set_material(params):
    one = find_object(params)
    color = numbers(params, "color", 4, [0.8, 0.8, 0.8, 1.0])
    if not hasattr(one.data, "materials"):
        raise WrongRequest(f"`{one.name}` ({one.type}) takes no material")
    name = str(params.get("material_name") or f"{one.name} material")
    material = bpy.data.materials.get(name) or bpy.data.materials.new(name)
    if bpy.app.version < (5, 0, 0):  # Later materials always have nodes.
        material.use_nodes = True
    material.diffuse_color = color
    for node in material.node_tree.nodes:
        if node.type == "BSDF_PRINCIPLED":
            node.inputs["Base Color"].default_value = color
            node.inputs["Alpha"].default_value = color[3]
    if one.data.materials:
        one.data.materials[0] = material
    else:
        one.data.materials.append(material)
    return describe(one) | {"material": material.name, "color": rounded(color)}


def execute_code(params):
    code = params.get("code")
    if not isinstance(code, str):
        raise WrongRequest("`code` must be a text")
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(code, "<marvin>", "exec"), {"bpy": bpy, "__name__": "__marvin__"})
    except BaseException:  # Also SystemExit, which would end Blender.
        reason = traceback.format_exc(limit=-1)
        raise WrongRequest(f"{reason}{output.getvalue()[:MAX_OUTPUT_CHARS]}") from None
    return {"output": output.getvalue()[:MAX_OUTPUT_CHARS]}


def view_area():
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                return window, area
    return None


def shrink(path, max_size):
    image = bpy.data.images.load(path)
    try:
        width, height = image.size
        factor = max_size / max(width, height, 1)
        if factor < 1:
            image.scale(max(1, int(width * factor)), max(1, int(height * factor)))
            image.file_format = "PNG"
            image.save()
        return list(image.size)
    finally:
        bpy.data.images.remove(image)


def render_image(path, max_size):
    """Renders the scene, where there is no window to look at."""
    scene = bpy.context.scene
    if not scene.camera:
        raise WrongRequest("there is no window to show and no camera to render from; create a CAMERA first")
    render, cycles = scene.render, getattr(scene, "cycles", None)
    before = (render.engine, render.resolution_x, render.resolution_y, render.resolution_percentage)
    paths = (render.filepath, render.image_settings.file_format, cycles.samples if cycles else 0)
    try:
        width, height = render.resolution_x, render.resolution_y
        factor = min(1.0, max_size / max(width, height, 1))
        render.resolution_x, render.resolution_y = max(4, int(width * factor)), max(4, int(height * factor))
        render.resolution_percentage = 100
        if cycles:
            render.engine, cycles.samples = "CYCLES", RENDER_SAMPLES
        render.filepath, render.image_settings.file_format = path, "PNG"
        bpy.ops.render.render(write_still=True)
        return [render.resolution_x, render.resolution_y]
    finally:
        render.engine, render.resolution_x, render.resolution_y, render.resolution_percentage = before
        render.filepath, render.image_settings.file_format = paths[:2]
        if cycles:
            cycles.samples = paths[2]


def screenshot(params):
    max_size = int(params.get("max_size") or 512)
    with tempfile.TemporaryDirectory(prefix="marvin-") as directory:
        path = os.path.join(directory, "view.png")
        found = None if bpy.app.background else view_area()
        if found:
            window, area = found
            with bpy.context.temp_override(window=window, area=area):
                bpy.ops.screen.screenshot_area(filepath=path)
            size = shrink(path, max_size)
        else:
            size = render_image(path, max_size)
        with open(path, "rb") as file:
            data = base64.b64encode(file.read()).decode("ascii")
    return {"format": "png", "width": size[0], "height": size[1], "data": data}


COMMANDS = {
    "get_scene": get_scene,
    "get_object": get_object,
    "create_object": create_object,
    "modify_object": modify_object,
    "delete_object": delete_object,
    "set_material": set_material,
    "execute_code": execute_code,
    "screenshot": screenshot,
}


def carry_out(request):
    """Carries a request out, in the main thread; never raises."""
    try:
        command = COMMANDS.get(request.get("type"))
        params = request.get("params", {})
        if command is None or not isinstance(params, dict):
            raise WrongRequest(f"no such command: `{request.get('type')}`; commands: {', '.join(COMMANDS)}")
        return {"status": "success", "result": command(params)}
    except WrongRequest as error:
        return {"status": "error", "message": str(error)}
    except Exception as error:  # A fault of one request must not end the add-on.
        return {"status": "error", "message": f"{type(error).__name__}: {error}"}


def read_token():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "marvin_socket.token")
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Listener:
    """The socket and its threads; requests wait in a queue for the main thread."""

    def __init__(self, port):
        self.waiting = queue.Queue()
        self.token = read_token()
        self.socket = socket.create_server((HOST, port))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with connection, contextlib.suppress(OSError):
            connection.settimeout(IDLE_TIMEOUT_SECONDS)
            buffer = b""
            while True:
                if buffer[:1] not in (b"", b"{"):
                    return
                line, found, rest = buffer.partition(b"\n")
                if found:
                    buffer = rest
                    answer = self.answer(line)
                    connection.sendall(json.dumps(answer).encode() + b"\n")
                    continue
                if len(buffer) > MAX_REQUEST_BYTES:
                    return
                piece = connection.recv(65536)
                if not piece:
                    return
                buffer += piece

    def answer(self, line):
        try:
            request = json.loads(line)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            return {"status": "error", "message": "the request is not an object of JSON"}
        if self.token and not hmac.compare_digest(str(request.get("token", "")).encode(), self.token.encode()):
            return {"status": "error", "message": "the token is wrong; run `marvin blender install` again"}
        reply = queue.Queue()
        self.waiting.put((request, reply))
        try:
            return reply.get(timeout=ANSWER_TIMEOUT_SECONDS)
        except queue.Empty:
            return {"status": "error", "message": "Blender is busy"}

    def work(self, timeout=None):
        """Carries out what waits; with a timeout, waits for one request."""
        with contextlib.suppress(queue.Empty):
            while True:
                request, reply = self.waiting.get(block=timeout is not None, timeout=timeout)
                reply.put(carry_out(request))
                timeout = None

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.close()


listener = None


def wanted_port():
    return int(os.environ.get("MARVIN_BLENDER_PORT", DEFAULT_PORT))


def poll():
    if listener is None:
        return None
    listener.work()
    return POLL_SECONDS


def register():
    global listener
    if listener is None:
        listener = Listener(wanted_port())
        bpy.app.timers.register(poll, persistent=True)


def unregister():
    global listener
    if listener is not None:
        listener.close()
        listener = None


def serve():
    """Serves until the process ends, where no timer runs."""
    server = Listener(wanted_port())
    print(f"listening on {HOST}:{server.port}", flush=True)
    while True:
        server.work(timeout=1.0)


if __name__ == "__main__":
    serve()
