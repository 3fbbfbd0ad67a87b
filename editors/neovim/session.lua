-- A session of the debugger in Neovim without a screen, by nvim-dap:
--
--   nvim --headless -u NONE --cmd 'set rtp+=PATH/TO/nvim-dap' -l editors/neovim/session.lua SIMTLAB FOLDER
--
-- FOLDER has a launch.toml whose kernel is in its only .ptx file. Breaks at the third instruction
-- line behind the entry, steps, looks at registers, goes back, runs to the end. Prints what it sees;
-- the exit code is 1 if something does not come.

local simtlab, folder = arg[1], arg[2]
local dap = require("dap")
local events, finished = {}, false

local function say(...) print(string.format(...)) end

local function wait(what, condition)
  if not vim.wait(20000, condition, 10) then
    say("%s does not come", what)
    os.exit(1)
  end
end

dap.adapters.simtlab = { type = "executable", command = simtlab, args = { "dap" } }
dap.listeners.after.event_stopped.test = function(_, body) table.insert(events, body) end
dap.listeners.after.event_exited.test = function(_, body) finished = body.exitCode end

-- A request of the session, answered.
local function ask(command, arguments)
  local answer, failed
  dap.session():request(command, arguments, function(err, body) failed, answer = err, body end)
  wait(command, function() return answer or failed end)
  assert(not failed, vim.inspect(failed))
  return answer
end

local count = 0
local function stopped(what)
  count = count + 1
  wait(what, function() return #events >= count and dap.session().current_frame ~= nil end)
  local body = events[count]
  local frame = ask("stackTrace", { threadId = body.threadId, levels = 1 }).stackFrames[1]
  say("%s: %s at %s line %d", what, body.reason, vim.fs.basename(frame.source.path), frame.line)
  return frame
end

local ptx = vim.fn.glob(folder .. "/*.ptx")
vim.cmd.edit(ptx)
local entry = vim.fn.search([[^\.visible \.entry\|^\s*\.visible \.entry]])
vim.fn.cursor(entry, 1)
for _ = 1, 3 do vim.fn.search([[^\s*[a-z][a-z0-9.]*\s.*;]]) end
dap.toggle_breakpoint()
local line = vim.fn.line(".")
vim.opt.swapfile = false
dap.run({ type = "simtlab", request = "launch", name = "test", program = folder, stopOnEntry = true,
  lines = "program" })

local first = stopped("entry")
dap.continue()
local frame = stopped("continue")
assert(frame.line == line, "not at the breakpoint")
dap.step_over()
stopped("step over")
local scopes = ask("scopes", { frameId = ask("stackTrace", { threadId = events[count].threadId }).stackFrames[1].id }).scopes
local registers = ask("variables", { variablesReference = scopes[1].variablesReference }).variables
say("%s: %d registers, first %s = %s", scopes[1].name, #registers, registers[1].name, registers[1].value)
dap.step_back()
local back = stopped("step back")
assert(back.line == line, "not back at the breakpoint")
dap.reverse_continue()
local start = stopped("reverse continue")
assert(start.line == first.line, "not at the start")
dap.clear_breakpoints()
vim.wait(200)
-- Further launches of the folder stop on their entries.
repeat
  dap.continue()
  wait("an entry or the end", function() return #events > count or finished ~= false end)
  if not finished then stopped("next launch") end
until finished
say("exit code %d", finished)
os.exit(finished == 0 and 0 or 1)
