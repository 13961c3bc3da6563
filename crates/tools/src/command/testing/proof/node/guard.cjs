// Every Node.js that a verification starts loads this file before the project's code.
//
// Code under test shares the process with its assertions and its runner, so it could replace `assert.equal` or `test`, or print a
// summary and end the process. The members of `node:assert` and `node:test` cannot be replaced here, also for those who load
// these modules later; those of chai, Mocha, Jest and Vitest cannot be replaced by files that the work changed. A process of tests is
// not ended with success by what it tests, nor after a failure. Everything else can be mocked as usual.
//
// Limits: the state of Jest and Vitest can be written.
'use strict';

const Module = require('module');
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { isMainThread } = require('worker_threads');

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

const isTest = (file) =>
  /(^|[\\/])(tests?|spec|__tests__)[\\/]/.test(path.relative(process.cwd(), file)) ||
  /(^|[._-])(test|spec)s?([._-]|$)/.test(path.basename(file).replace(/\.[cm]?[jt]sx?$/, ''));
const isPackage = (file) => /[\\/]node_modules[\\/]/.test(file);
const RUNNER =
  /[\\/]node_modules[\\/](?:\.bin[\\/])?(_?mocha|jest(?:-cli|-worker|-runner)?|vitest|tinypool|ava|jasmine|tape|uvu|qunit)(?:[\\/.]|$)/;
const main = process.argv[1];
const runner = RUNNER.exec(main || '')?.[1];
const isRunner = runner !== undefined || process.env.NODE_TEST_CONTEXT !== undefined || (!!main && isTest(main));

// The files that the work changed; none where that is not known.
const changed = (() => {
  try {
    return new Set(JSON.parse(fs.readFileSync(path.join(__dirname, 'changed.json'), 'utf8')));
  } catch {
    return undefined;
  }
})();

// The files on the stack, the innermost first; `node:` ones are Node.js itself.
function callers() {
  const { stackTraceLimit, prepareStackTrace } = Error;
  const own = (_, sites) => sites.map((site) => String(site.getFileName() ?? ''));
  Error.stackTraceLimit = 100;
  Error.prepareStackTrace = own;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  const plain = (file) => (file.startsWith('file://') ? decodeURIComponent(file.slice(7)) : file);
  // A stack that the project prepared says nothing.
  return Array.isArray(stack) ? stack.map(plain).filter((file) => file && file !== __filename) : [];
}

// The file of the project that made a call which only tests and their runner may make; none for these.
function codeUnderTest() {
  const files = callers();
  for (const file of files) {
    if (!file.startsWith('/') || isPackage(file)) continue;
    const isOwn = file === main || (isTest(file) && !changed?.has(file));
    return isOwn ? undefined : file;
  }
  // A timer of the project calls the exit itself.
  return files.some((file) => isPackage(file) || file.startsWith('node:internal/test_runner')) ? undefined : 'a callback';
}

const { error } = console;
const REFUSED = 70;
// The exit code of a process that must not succeed any more.
let failure = 0;

// Refuses what a file that the work changed does to a runner or its assertions.
function refuseChange(what) {
  const file = changed && callers().find((file) => changed.has(file) && !isTest(file));
  if (file === undefined) return;
  failure = REFUSED;
  const sentence = `the code under test changes ${what}, by which it is judged: ${file}`;
  error(sentence);
  throw new Error(sentence);
}

// Lets everyone but the code under test replace a member.
function keepMember(target, key, owner, isConfigurable = false) {
  const own = Reflect.getOwnPropertyDescriptor(target, key);
  if (!own?.configurable || !('value' in own)) return;
  let { value } = own;
  Reflect.defineProperty(target, key, {
    configurable: isConfigurable,
    enumerable: own.enumerable,
    get: () => value,
    set(replacement) {
      if (this !== target && this !== undefined) {
        Reflect.defineProperty(this, key, { ...own, value: replacement });
        return;
      }
      refuseChange(`\`${String(key)}\` of ${owner}`);
      value = replacement;
    },
  });
}

function keepMembers(target, owner) {
  if (target === null || !['object', 'function'].includes(typeof target)) return;
  for (const key of Reflect.ownKeys(target)) {
    if (typeof Reflect.getOwnPropertyDescriptor(target, key).value === 'function') keepMember(target, key, owner);
  }
}

const done = new WeakSet();

// The prototype of a class cannot be replaced.
function keepClass(Assertion) {
  keepMember(Assertion.prototype, 'assert', 'chai');
  for (const change of ['Property', 'Method', 'ChainableMethod'].flatMap((kind) => [`add${kind}`, `overwrite${kind}`])) {
    const original = Assertion[change];
    Assertion[change] = function (...values) {
      if (Object.hasOwn(Assertion.prototype, values[0])) refuseChange(`\`${values[0]}\` of chai`);
      return Reflect.apply(original, this, values);
    };
  }
}

function keepChai(chai) {
  const { Assertion } = chai;
  if (done.has(Assertion)) return;
  done.add(Assertion);
  if (!Object.isFrozen(chai) && !Object.isSealed(chai)) keepMembers(chai, 'chai');
  keepMembers(chai.assert, 'chai');
  keepMembers(chai.util, 'chai');
  // Plugins look at the descriptors of assertions, so these stay as they are.
  const refuse = (own, key) => Object.hasOwn(own, key) && refuseChange(`\`${String(key)}\` of chai`);
  const prototype = new Proxy(Assertion.prototype, {
    defineProperty(own, key, descriptor) {
      refuse(own, key);
      return Reflect.defineProperty(own, key, descriptor);
    },
    deleteProperty(own, key) {
      refuse(own, key);
      return Reflect.deleteProperty(own, key);
    },
    setPrototypeOf: () => false,
  });
  if (Reflect.set(Assertion, 'prototype', prototype)) {
    Reflect.defineProperty(Assertion, 'prototype', { writable: false });
  } else {
    keepClass(Assertion);
  }
  keepMembers(Assertion, 'chai');
}

const GLOBALS = [
  'describe', 'xdescribe', 'fdescribe', 'context', 'suite', 'it', 'xit', 'fit', 'specify', 'test', 'xtest', 'before', 'after',
  'beforeAll', 'afterAll', 'beforeEach', 'afterEach', 'setup', 'teardown', 'expect',
];

// Jest runs a file of tests in a context of its own, which has its assertions.
function keepJest(adapter) {
  return async function (globalConfig, config, environment, runtime, ...rest) {
    const { global } = environment;
    const hasGetter = (name) => Reflect.getOwnPropertyDescriptor(global, name)?.get !== undefined;
    const keepContext = () => {
      // Jest's proxy of the global object has no constant properties.
      for (const name of GLOBALS) keepMember(global, name, 'Jest', true);
      keepMembers(global[Symbol.for('$$jest-matchers-object')]?.matchers, 'Jest');
      keepMember(global.Object, 'is', 'Jest');
      return GLOBALS.filter(hasGetter);
    };
    let kept = [];
    const check = () => {
      const name = changed && kept.find((name) => !hasGetter(name));
      if (name) throw new Error(`\`${name}\` of Jest was defined again while the tests ran`);
    };
    for (const name of ['requireModule', 'unstable_importModule']) {
      const original = runtime[name];
      runtime[name] = function (...values) {
        kept = keepContext();
        const result = Reflect.apply(original, this, values);
        check();
        return result;
      };
    }
    const results = await Reflect.apply(adapter, this, [globalConfig, config, environment, runtime, ...rest]);
    check();
    if (results?.numFailingTests > 0) failure ||= 1;
    return results;
  };
}

// What is done to the modules of runners when they were loaded.
const LOADED = [
  [/[\\/]node_modules[\\/]chai[\\/](?:index|chai|lib[\\/]chai)\.c?js$/, (module) => keepChai(module.exports)],
  [
    /[\\/]node_modules[\\/]mocha[\\/]lib[\\/](?:runner|runnable|test|suite|hook|mocha|context)\.c?js$/,
    ({ exports }) => {
      if (/^Runner$/.test(exports.name)) {
        const { fail } = exports.prototype;
        exports.prototype.fail = function (...values) {
          failure ||= 1;
          return Reflect.apply(fail, this, values);
        };
      }
      keepMembers(exports, 'Mocha');
      keepMembers(exports.prototype, 'Mocha');
    },
  ],
  [
    /[\\/]node_modules[\\/]jest-circus[\\/]build[\\/](?:runner|.*jestAdapter)\.js$/,
    (module) => {
      module.exports = { __esModule: true, default: keepJest(module.exports.default) };
    },
  ],
];
const { load } = Module.prototype;
Module.prototype.load = function (file) {
  const result = Reflect.apply(load, this, [file]);
  for (const [pattern, change] of LOADED) {
    if (pattern.test(file) && !done.has(this)) {
      done.add(this);
      change(this);
    }
  }
  return result;
};

if (runner === 'mocha' || runner === '_mocha') {
  for (const name of GLOBALS) {
    Reflect.defineProperty(globalThis, name, { value: undefined, writable: true, configurable: true });
    keepMember(globalThis, name, 'Mocha');
  }
}

if (runner === 'vitest' || runner === 'tinypool') {
  let chai;
  import('file://' + Module.createRequire(fs.realpathSync(main)).resolve('chai')).then(
    (loaded) => {
      chai = loaded;
      keepChai(chai);
    },
    () => {},
  );
  // It tells methods of chai by their descriptors.
  const hasPromises = fs.existsSync('node_modules/chai-as-promised');
  const { runInThisContext } = vm;
  vm.runInThisContext = function (...values) {
    // Vitest adds members of its own before it runs the project's modules.
    if (chai && !hasPromises && changed?.has(values[1]?.filename)) keepMembers(chai.Assertion.prototype, 'chai');
    return Reflect.apply(runInThisContext, this, values);
  };
  keepMember(Object, 'is', 'Vitest');
}

if (isRunner && isMainThread) {
  const end = process.reallyExit;
  Reflect.defineProperty(process, 'reallyExit', {
    configurable: true,
    writable: true,
    enumerable: true,
    value: function reallyExit(code) {
      const isSuccess = !(code === undefined ? process.exitCode : code);
      if (isSuccess && failure) return Reflect.apply(end, process, [failure]);
      const file = isSuccess ? codeUnderTest() : undefined;
      if (file === undefined) return Reflect.apply(end, process, [code]);
      error(`the code under test ended the process of its tests: ${file}`);
      return Reflect.apply(end, process, [REFUSED]);
    },
  });
  // A process that ends by itself says so, and a listener must not turn a failure into success.
  const sampled = (emit) =>
    function (name, ...values) {
      if (name === 'exit' || name === 'beforeExit') failure ||= Number(process.exitCode) || 0;
      const result = Reflect.apply(emit, this, [name, ...values]);
      if (name === 'exit' && failure && !process.exitCode) process.exitCode = failure;
      return result;
    };
  let emit = sampled(process.emit);
  Reflect.defineProperty(process, 'emit', {
    configurable: false,
    enumerable: false,
    get: () => emit,
    set: (replacement) => {
      emit = sampled(replacement);
    },
  });
}
