#!/usr/bin/env node
// Starts the ralph of this platform, whose package npm installs beside this one.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;

function find() {
  try {
    return require.resolve(`ralph-loop-${platform}/bin/ralph`);
  } catch {
    console.error(`Error: the package ralph-loop-${platform} is not installed`);
    console.error("Hint: install ralph-loop without `--omit=optional`; for other platforms build ralph with Rust");
    process.exit(1);
  }
}

const child = spawn(find(), process.argv.slice(2), { stdio: "inherit" });

// A key at the terminal reaches the child too; a second signal would mean that somebody pressed it twice.
const fromTerminal = process.stdin.isTTY ? ["SIGINT", "SIGQUIT", "SIGHUP"] : [];
for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"]) {
  process.on(signal, () => {
    if (!fromTerminal.includes(signal)) {
      child.kill(signal);
    }
  });
}

child.on("error", (error) => {
  console.error(`Error: ralph cannot be started: ${error.message}`);
  process.exit(1);
});

child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
