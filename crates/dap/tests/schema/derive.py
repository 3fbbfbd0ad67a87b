#!/usr/bin/env python3
"""Derives protocol.json from debugAdapterProtocol.json of the Debug Adapter Protocol.

    derive.py debugAdapterProtocol.json > protocol.json

What remains are the definitions that messages of these requests and events use, without their
descriptions. Objects take no properties beside those that the protocol lists, which the original
leaves open: a misspelled one is an error of the test.
"""

import json
import sys

REQUESTS = """Initialize Launch Attach Disconnect Terminate ConfigurationDone SetBreakpoints
SetFunctionBreakpoints SetExceptionBreakpoints SetDataBreakpoints DataBreakpointInfo Continue Next StepIn
StepOut StepBack ReverseContinue Pause StackTrace Scopes Variables SetVariable Source Threads Evaluate
ReadMemory WriteMemory ExceptionInfo Disassemble SetInstructionBreakpoints StepInTargets""".split()
EVENTS = "Initialized Stopped Continued Exited Terminated Thread Output Breakpoint Invalidated".split()

TEXTS = ("description", "title", "enumDescriptions", "_enum")


def compact(node, composed=False):
    """Drops texts; closes objects that are no parts of compositions."""
    if isinstance(node, list):
        return [compact(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if key in TEXTS and not isinstance(value, dict):
            continue
        if key == "properties":
            out[key] = {name: compact(value) for name, value in value.items()}
        elif key == "allOf":
            out[key] = [compact(part, True) for part in value]
        else:
            out[key] = compact(value)
    if "properties" in out and not composed and "allOf" not in out:
        out.setdefault("additionalProperties", False)
    return out


def references(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value.rsplit("/", 1)[1]
            else:
                yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def main():
    definitions = json.load(open(sys.argv[1]))["definitions"]
    wanted = [f"{name}{kind}" for name in REQUESTS for kind in ("Request", "Response")]
    wanted += [f"{name}Event" for name in EVENTS] + ["ErrorResponse"]
    found = {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            # The bases of messages, and the arguments of launches, are open.
            base = name in ("ProtocolMessage", "Request", "Event", "Response", "LaunchRequestArguments",
                            "AttachRequestArguments")
            found[name] = compact(definitions[name], base)
            wanted.extend(references(found[name]))
    rows = [f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)]
    schema = json.dumps("http://json-schema.org/draft-04/schema#")
    print(f'{{"$schema": {schema}, "definitions": {{')
    print(",\n".join(rows) + "\n}}")


main()
