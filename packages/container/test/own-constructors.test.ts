import { runInThisContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { inject, Registration, type Class } from '../src/index.js';
import { graph, verify } from '../src/tools.js';
import { refusal } from './support/refusal.js';
import { openApplication } from './support/scopes.js';

class Base {
  readonly got: readonly unknown[];
  constructor(@inject('a') one: unknown, @inject('b') two: unknown) {
    this.got = [one, two];
  }
}

/** A subclass of the text; a compiler of the tests would change classes that are written here. */
const subclass = (text: string, parent: Class<Base> = Base): Class<Base> =>
  (runInThisContext(`(Base) => (${text})`) as (parent: Class<Base>) => Class<Base>)(parent);

const open = () => openApplication(Registration.fromValue('A').to('a'), Registration.fromValue('B').to('b'));
const gets = (text: string) => open().resolve(subclass(text)).got;

/** Text that looks like a constructor and is none, or that hides where a constructor begins or ends. */
const distractions = [
  '// constructor(a) {',
  '/* constructor(a) { */',
  '/** } { ( [ \' " ` */',
  `text = 'constructor(a) {' + "constructor(a) {" + 'it\\'s }';`,
  'html = `constructor(a) { ${[1].map((n) => `<b>${n} constructor(b) {</b>`).join("}")} {`;',
  'pattern = /[/{(\'"`]constructor\\(a\\) {/g;',
  'clean(s) { return s.replace(/["\'{]/g, "").split(/}/) / 2 / 3; }',
  'half(a, b) { return (a + b) / 2 + [4][0] / 2; }',
  'name() { return this.constructor.name; }',
  'clone() { return new this.constructor("x", "y"); }',
  'nested() { return class { constructor(a) { this.a = a; } }; }',
  'maker = { constructor(a) { return a; } };',
  'static made = class extends Base { constructor() { super("x"); } };',
  'static { const constructor = (a) => a; constructor(1); }',
  'static constructor(a) { return a; }',
  '["constructor" + "(a)"](a) { return a; }',
  '#constructed = 1;',
  'constructors(a) { return a; }',
];

/** Constructors that say what the parent gets. */
const own = [
  'constructor(ttl = 60) { super("own", ttl); }',
  'constructor(ttl=60){super("own",ttl)}',
  'constructor() { super("own", 60); }',
  'constructor({ ttl } = { ttl: 60 }) { super("own", ttl); }',
  'constructor(fill = ")", ...rest) { super("own", 60, ...rest); }',
  'constructor(...rest) { super("own", 60, ...rest); }',
  'constructor  (\n  ttl = 60 // seconds\n) {\n super("own", ttl);\n}',
  'constructor /* of */ (ttl = 60) { super("own", ttl); }',
  "'constructor'(ttl = 60) { super('own', ttl); }",
];

/** Constructors that only pass on what they get: what compilers write for a class without one that has fields. */
const passing = [
  'constructor() { super(...arguments); this.extra = 1; }',
  'constructor(){super(...arguments);this.extra=1}',
  'constructor(...args) { super(...args); this.extra = 1; }',
  'constructor(...e){super(...e),this.extra=1}',
  'constructor() { counted(); super(...arguments); function counted() {} }',
];

describe('a subclass', () => {
  it.each(['', ...distractions])('without a constructor gets what its parent asks for: %s', (member) => {
    expect(gets(`class Sub extends Base { ${member}\n }`)).toEqual(['A', 'B']);
  });

  it.each(own)('with a constructor that needs nothing gets nothing: %s', (constructor) => {
    expect(gets(`class Sub extends Base { ${constructor} }`)).toEqual(['own', 60]);
    const around = distractions.flatMap((member) => [`${member}\n${constructor}`, `${constructor}\n${member}`]);
    expect(around.filter((members) => gets(`class Sub extends Base { ${members}\n }`)[0] !== 'own')).toEqual([]);
  });

  it.each(passing)('that passes on its arguments gets what its parent asks for: %s', (constructor) => {
    expect(gets(`class extends Base { ${constructor} }`)).toEqual(['A', 'B']);
    const before = distractions.filter((member) => gets(`class extends Base { ${member}\n${constructor} }`)[1] !== 'B');
    expect(before).toEqual([]);
  });

  it('with a decorated constructor gets what that asks for, and leaves its parent as it is', () => {
    class Sub extends Base {
      constructor(@inject('b') mine: unknown) {
        super('own', mine);
      }
    }
    expect(open().resolve(Sub).got).toEqual(['own', 'B']);
    expect(open().resolve(Base).got).toEqual(['A', 'B']);
  });

  it('counts for the classes below it', () => {
    const Sub = subclass('class Sub extends Base { constructor(ttl = 60) { super("own", ttl); } }');
    expect(open().resolve(subclass('class extends Base {}', Sub)).got).toEqual(['own', 60]);
  });

  it('whose parent has a parameter without a key is refused, like the parent', () => {
    class Middle extends Base {
      constructor(readonly size: unknown) {
        super('a', 'b');
      }
    }
    class Sub extends Middle {}

    expect(refusal(() => open().resolve(Middle)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');
    expect(refusal(() => open().resolve(Sub)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');
  });

  it('whose text cannot be read is refused, and made from its list of keys', () => {
    const Sub = subclass(
      'class extends Base { test(s) { if (s) /[{]/.test(s); } constructor(ttl = 60) { super("own", ttl); } }',
    );
    expect(refusal(() => open().resolve(Sub)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');

    const listed = Registration.fromClass(Sub, ['b', 'a']).to('ISub');
    expect(open().addRegistration(listed).resolve<Base>('ISub').got).toEqual(['own', 'B']);
  });

  it('of a class that asks for nothing is made without a look at its text', () => {
    class Plain {}
    const Sub = Object.setPrototypeOf(function Sub() {}, Plain) as Class;
    expect(open().resolve(Sub)).toBeInstanceOf(Sub);
  });
});

describe('a subclass written as a function', () => {
  const derived = (text: string) => {
    const Sub = subclass(text);
    Object.setPrototypeOf(Sub, Base);
    Object.setPrototypeOf(Sub.prototype, Base.prototype);
    return Sub;
  };

  it('gets what its parent asks for where it passes on its arguments', () => {
    const Sub = derived('function Sub() { return ((B, all) => Reflect.construct(B, all, Sub))(Base, arguments); }');
    expect(open().resolve(Sub).got).toEqual(['A', 'B']);
  });

  it('is refused otherwise, by verify too, until it has a list of keys', () => {
    const Sub = derived('function Sub() { return Reflect.construct(Base, ["own", 60], Sub); }');
    const app = open();
    expect(refusal(() => app.resolve(Sub)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');

    app.addRegistration(Registration.fromClass(Sub).to('ISub'));
    expect(refusal(() => verify(app)).problems).toMatchObject([{ code: 'AMBIT_NO_KEY_FOR_PARAMETER' }]);
    expect(graph(app).nodes).toHaveLength(3);

    app.addRegistration(Registration.fromClass<typeof Sub, []>(Sub, [] as never).to('IListed'));
    expect(app.resolve<Base>('IListed').got).toEqual(['own', 60]);
  });
});
