/**
 * Services in numbers, each with a class of its own, written as text: classes made in a loop would share their code, and with it
 * what V8 has learnt about them.
 */

import { runInThisContext } from 'node:vm';

const MODULE = 10;

const classOf = (key) => key[0].toUpperCase() + key.slice(1);

function classesFor(specs) {
  const text = specs.map(({ name, deps }) => {
    const fields = deps.map((dep) => `this.${dep} = ${dep};`).join(' ');
    return `${name}: class ${classOf(name)} { constructor(${deps.join(', ')}) { this.made = true; ${fields} } }`;
  });
  return runInThisContext(`({ ${text.join(',\n')} })`);
}

function servicesFor(specs) {
  const types = classesFor(specs);
  return specs.map(({ name, deps, lifetime }) => ({ key: name, type: types[name], deps, lifetime }));
}

/** Half application singletons and half request services, in modules of 10 that build on one another. */
export function modules(size) {
  const specs = [{ name: 'config', deps: [], lifetime: 'app' }];
  for (const [lifetime, letter] of [
    ['app', 'a'],
    ['request', 'r'],
  ])
    for (let i = 0; i < size / 2; i++) {
      const base = lifetime === 'app' ? 'config' : `a${i}`;
      specs.push({ name: letter + i, deps: i % MODULE ? [base, `${letter}${i - 1}`] : [base], lifetime });
    }
  return servicesFor(specs);
}

/** Request services that are all needed by the first one; each needs two others, the last ones need only the configuration. */
export function tree(size) {
  const specs = [{ name: 'config', deps: [], lifetime: 'app' }];
  for (let i = size - 1; i >= 0; i--) {
    const deps = [2 * i + 1, 2 * i + 2].filter((child) => child < size).map((child) => `s${child}`);
    specs.push({ name: `s${i}`, deps: deps.length > 0 ? deps : ['config'], lifetime: 'request' });
  }
  return servicesFor(specs);
}

/** The code one would write for these services: a class for the application and one for a request, with a method for each module. */
export function handWritten(services) {
  const app = services.filter(({ lifetime }) => lifetime === 'app');
  const request = services.filter(({ lifetime }) => lifetime === 'request');
  const lifetimeOf = new Map(services.map(({ key, lifetime }) => [key, lifetime]));
  const moduleOf = new Map([app, request].flatMap((all) => all.map(({ key }, i) => [key, Math.floor(i / MODULE)])));

  const written = (all, lifetime) => {
    const methods = [];
    for (let from = 0; from < all.length; from += MODULE) {
      const own = all.slice(from, from + MODULE);
      const place = (dep) => {
        if (lifetimeOf.get(dep) !== lifetime) return `this.app.m${moduleOf.get(dep)}.${dep}`;
        return own.some(({ key }) => key === dep) ? dep : `this.m${moduleOf.get(dep)}.${dep}`;
      };
      const lines = own.map(({ key, deps }) => `const ${key} = new ${classOf(key)}(${deps.map(place).join(', ')});`);
      methods.push(
        `module${methods.length}() { ${lines.join('\n')} return { ${own.map(({ key }) => key).join(', ')} }; }`,
      );
    }
    const fields = methods.map((_, i) => `this.m${i} = this.module${i}();`).join(' ');
    return `class { constructor(app) { this.app = app; ${fields} } ${methods.join('\n')} async dispose() {} }`;
  };
  const types = Object.fromEntries(services.map(({ key, type }) => [key, type]));
  const locals = services.map(({ key }) => `${key}: ${classOf(key)}`).join(', ');
  const text = `({ ${locals} }) => [${written(app, 'app')}, ${written(request, 'request')}]`;
  const [Application, Request] = runInThisContext(text)(types);
  const get = (scope, key) =>
    (lifetimeOf.get(key) === 'app' ? (scope.app ?? scope) : scope)[`m${moduleOf.get(key)}`][key];
  return { Application, Request, get };
}
