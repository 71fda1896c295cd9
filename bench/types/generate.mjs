// The same graph for each contestant: classes with three dependencies each, of earlier ones, spread over the lifetimes.
const LIFETIMES = ['application', 'request', 'transaction'];
const FEATURE = 50;

/** @param {number} count */
const services = (count) =>
  Array.from({ length: count }, (_, i) => ({
    name: `C${i}`,
    key: `s${i}`,
    level: Math.floor((i * LIFETIMES.length) / count),
    needs: i < 3 ? [] : [0, 1, 2].map((n) => (i * (7 + n) + n * 13) % i),
  }));

/** @typedef {ReturnType<typeof services>[number]} Service */

const keys = (/** @type {Service} */ { needs }) => needs.map((i) => `'s${i}'`).join(', ');

const classes = (/** @type {Service[]} */ all, statics = false) =>
  all
    .map((service, i) => {
      const parameters = service.needs.map((need, n) => `readonly p${n}: C${need}`).join(', ');
      const inject = statics ? `static readonly inject = [${keys(service)}] as const; ` : '';
      return `export class C${i} { ${inject}constructor(${parameters}) {} m${i}() { return ${i}; } }`;
    })
    .join('\n');

/** Each gives the text of a module that registers the graph and uses the last service. */
export const CONTESTANTS = {
  'the classes alone': (/** @type {Service[]} */ all) => classes(all),

  '@ambit/container': (/** @type {Service[]} */ all) => {
    const lines = all.map((one) => `${one.key}: of('${LIFETIMES[one.level]}', ${one.name}, [${keys(one)}]),`);
    const features = [];
    for (let at = 0; at < lines.length; at += FEATURE) features.push(lines.slice(at, at + FEATURE).join('\n'));
    return `import { Container, lifetimes, type Services } from '@ambit/container';
${classes(all)}
const { of, build } = lifetimes(${LIFETIMES.map((tag) => `'${tag}'`).join(', ')});
${features.map((text, i) => `const feature${i} = {\n${text}\n};`).join('\n')}
const app = build({ ${features.map((_, i) => `...feature${i}`).join(', ')} });
declare module '@ambit/container' { interface ServiceMap extends Services<typeof app> {} }
const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
export const last = container.resolve('s${all.length - 1}').m${all.length - 1}();
`;
  },

  // Two lifetimes are all that it has.
  '@inferdi/inferdi': (/** @type {Service[]} */ all) => `import { Container } from '@inferdi/inferdi';
${classes(all)}
const container = new Container()
${all.map((one) => `  .registerClass('${one.key}', ${one.name}, [${keys(one)}], '${one.level === 0 ? 'singleton' : 'scoped'}')`).join('\n')};
export const last = container.get('s${all.length - 1}').m${all.length - 1}();
`,

  // It has no lifetimes within one injector.
  'typed-inject': (/** @type {Service[]} */ all) => `import { createInjector } from 'typed-inject';
${classes(all, true)}
const injector = createInjector()
${all.map((one) => `  .provideClass('${one.key}', ${one.name})`).join('\n')};
export const last = injector.resolve('s${all.length - 1}').m${all.length - 1}();
`,
};

/**
 * @param {keyof typeof CONTESTANTS} contestant
 * @param {number} count
 */
export const source = (contestant, count) => CONTESTANTS[contestant](services(count));
