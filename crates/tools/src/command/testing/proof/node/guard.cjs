// Every Node.js that a verification starts loads this file before the project's code.
//
// Code under test shares the process with its assertions and its runner, so it could replace `assert.equal` or `test`, or print a
// summary and end the process. The members of `node:assert` and `node:test` cannot be replaced here, also for those who load
// these modules later, and a process whose main file is a test is not ended with success by what it tests. Everything else can
// be mocked as usual.
'use strict';

const Module = require('module');

const GUARDED = ['assert', 'assert/strict', 'node:test'];
const names = new Set([...GUARDED, 'node:assert', 'node:assert/strict']);

// Makes what an object has at this time constant; entries may still be added.
function lock(target, seen) {
  if (target === null || !['object', 'function'].includes(typeof target) || seen.has(target)) return;
  seen.add(target);
  for (const key of Reflect.ownKeys(target)) {
    const own = Reflect.getOwnPropertyDescriptor(target, key);
    if (!own.configurable) continue;
    const fixed = 'value' in own ? { writable: false, configurable: false } : { configurable: false };
    Reflect.defineProperty(target, key, fixed);
    // Functions of a module, and classes with their methods; `mock` is for the project to change.
    if (key !== 'mock' && key !== 'constructor' && typeof own.value === 'function') lock(own.value, seen);
    if (key === 'prototype') lock(own.value, seen);
  }
}

for (const name of GUARDED) {
  try {
    lock(require(name), new Set([Function.prototype, Object.prototype, Error.prototype]));
  } catch {
    // An older Node.js has no such module.
  }
}

// Tools that replace the loader do so for other modules.
function keep(owner, name, request) {
  const original = owner[name];
  let current = original;
  Reflect.defineProperty(owner, name, {
    configurable: false,
    enumerable: true,
    get: () => current,
    set(replacement) {
      current =
        typeof replacement !== 'function'
          ? replacement
          : function (...values) {
              return Reflect.apply(names.has(request(values)) ? original : replacement, this, values);
            };
    },
  });
}
keep(Module, '_load', (values) => values[0]);
keep(Module.prototype, 'require', (values) => values[0]);

const path = require('path');
const isTest = (file) =>
  /(^|[\\/])(tests?|spec|__tests__)[\\/]/.test(path.relative(process.cwd(), file)) ||
  /(^|[._-])(test|spec)s?([._-]|$)/.test(path.basename(file).replace(/\.[cm]?[jt]sx?$/, ''));
const main = process.argv[1];

if (main && (process.env.NODE_TEST_CONTEXT !== undefined || isTest(main))) {
  const end = process.reallyExit;
  const { error } = console;
  const refused = 70;
  // The file of the project that called the exit; none for a test, a dependency, or Node.js itself.
  const caller = () => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 50;
    const stack = String(new Error().stack);
    Error.stackTraceLimit = stackTraceLimit;
    for (const line of stack.split('\n').slice(1)) {
      const found = /(?:\(|at |file:\/\/)(\/[^()]*):\d+:\d+\)?$/.exec(line);
      if (found && found[1] !== __filename) {
        const file = found[1];
        return isTest(file) || /[\\/]node_modules[\\/]/.test(file) ? undefined : file;
      }
    }
    return undefined;
  };
  Reflect.defineProperty(process, 'reallyExit', {
    configurable: true,
    writable: true,
    enumerable: true,
    value: function reallyExit(code) {
      const isSuccess = !(code === undefined ? process.exitCode : code);
      const file = isSuccess ? caller() : undefined;
      if (file === undefined) return Reflect.apply(end, process, [code]);
      error(`the code under test ended the process of its tests: ${file}`);
      return Reflect.apply(end, process, [refused]);
    },
  });
}
