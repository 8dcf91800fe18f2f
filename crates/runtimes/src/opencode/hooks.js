// Asks the hook about every tool call. A hook that does not answer, or answers in an unknown way, denies.
import { spawnSync } from "node:child_process";

const program = "PROGRAM";
const config = "HOOK_CONFIG";

function ask(phase, call) {
  const done = spawnSync(program, ["hook", phase, "--config", config], {
    input: JSON.stringify(call),
    encoding: "utf8",
    timeout: 60000,
    killSignal: "SIGKILL",
    maxBuffer: 256 * 1024 * 1024,
  });
  if (done.error || (done.status !== 0 && done.status !== 2)) {
    throw new Error("HOOK_ERROR: the hook did not answer; nothing happens without it");
  }
  const reply = done.stdout.trim() === "" ? {} : JSON.parse(done.stdout);
  return { denied: done.status === 2, reply };
}

export const Hooks = async () => ({
  "tool.execute.before": async (input, output) => {
    const call = { hook_event_name: "PreToolUse", tool_name: input.tool, tool_input: output.args ?? {} };
    const { denied, reply } = ask("pre-tool", call);
    if (denied) throw new Error(reply.reason ?? "denied by a security check");
  },
  "tool.execute.after": async (input, output) => {
    const call = {
      hook_event_name: "PostToolUse",
      tool_name: input.tool,
      tool_input: input.args ?? {},
      tool_result: output,
    };
    const { denied, reply } = ask("post-tool", call);
    const result = reply.tool_result;
    if (result !== null && typeof result === "object" && !Array.isArray(result)) {
      for (const key of Object.keys(output)) delete output[key];
      Object.assign(output, result);
      if (denied && typeof output.output === "string") output.output = `${reply.reason}\n${output.output}`;
      return;
    }
    // Not to be shown in any form: what is thrown takes the place of the output.
    if (denied || result !== undefined) throw new Error(reply.reason ?? "withheld by a security check");
  },
});
