#!/usr/bin/env node
// Starts the ralph binary of this platform, from the platform package that npm installs next to this one.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;

function find() {
  try {
    return require.resolve(`ralph-loop-${platform}/bin/ralph`);
  } catch {
    console.error(`Error: the package ralph-loop-${platform} is not installed`);
    console.error("Hint: install ralph-loop without `--omit=optional`, or build ralph from source");
    process.exit(1);
  }
}

const child = spawn(find(), process.argv.slice(2), { stdio: "inherit" });

// Keys at the terminal already reach the child; forwarding the signal would look like a second key press.
const fromTerminal = process.stdin.isTTY ? ["SIGINT", "SIGQUIT", "SIGHUP"] : [];
for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"]) {
  process.on(signal, () => {
    if (!fromTerminal.includes(signal)) {
      child.kill(signal);
    }
  });
}

child.on("error", (error) => {
  console.error(`Error: cannot start ralph: ${error.message}`);
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
