import { describe, expect, it } from 'vitest';
import { decorate, type IContainer, onDispose, onStart, Registration, singleton } from '../src/index.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Greeter {
  greet() {
    return 'hello';
  }
}
class Loud {
  constructor(readonly inner: { greet(): string }) {}
  greet() {
    return this.inner.greet().toUpperCase();
  }
}
const loud = decorate((inner: Greeter) => new Loud(inner));
const greeter = Registration.fromClass(Greeter);

describe('decorate', () => {
  it('wraps classes, values and factories', () => {
    const app = openApplication(
      greeter.pipe(loud).to('class'),
      Registration.fromValue(new Greeter()).pipe(loud).to('value'),
      Registration.fromFactory(() => new Greeter())
        .pipe(loud)
        .to('factory'),
    );
    expect(['class', 'value', 'factory'].map((key) => app.resolve<Loud>(key).greet())).toEqual(Array(3).fill('HELLO'));
  });

  it('applies in the order of the pipe, the first innermost, in one pipe or in several', () => {
    const add = (letter: string) => decorate((inner: string) => `${letter}(${inner})`);
    const app = openApplication(
      Registration.fromValue('x').pipe(add('a'), add('b'), add('c')).to('one pipe'),
      Registration.fromValue('x').pipe(add('a')).pipe(add('b')).pipe(add('c')).to('three'),
    );
    expect([app.resolve('one pipe'), app.resolve('three')]).toEqual(['c(b(a(x)))', 'c(b(a(x)))']);
  });

  it.each([
    ['before', greeter.pipe(singleton(), loud)],
    ['after', greeter.pipe(loud, singleton())],
  ])('wraps a singleton once and leaves it with its owner, piped %s it', (_, registration) => {
    const app = openApplication(registration.to('IShared'), registration.pipe(perRequest).to('IOwn'));
    const [one, other] = [openRequest(app), openRequest(app)];

    expect(openTransaction(one).resolve('IShared')).toBe(app.resolve('IShared'));
    expect(openTransaction(one).resolve('IOwn')).toBe(one.resolve('IOwn'));
    expect(one.resolve<Loud>('IOwn').inner).not.toBe(other.resolve<Loud>('IOwn').inner);
  });

  it('sees the scope that owns a singleton, and the scope that asks for anything else', () => {
    const seen: IContainer[] = [];
    const watch = decorate((inner: Greeter, scope) => {
      seen.push(scope);
      return inner;
    });
    const app = openApplication(
      greeter.pipe(singleton(), watch).to('IShared'),
      greeter.pipe(singleton(), perRequest, watch).to('IOwn'),
      greeter.pipe(watch).to('INew'),
    );
    const request = openRequest(app);
    const transaction = openTransaction(request);
    for (const key of ['IShared', 'IOwn', 'INew']) transaction.resolve(key);

    expect(seen).toEqual([app, request, transaction]);
  });

  it('concerns the one registration it is piped to, not another of the key or a neighbour', () => {
    const app = openApplication(greeter.to('IGreeter'), greeter.pipe(loud).to('IGreeter'), greeter.to('IGreeter'));
    const words = app.resolveAll<Greeter>('IGreeter').map((each) => each.greet());

    expect(words).toEqual(['hello', 'HELLO', 'hello']);
    expect(app.resolve<Greeter>('IGreeter').greet()).toBe('hello');
  });

  it('that throws leaves nothing behind: the next resolve makes and wraps again', () => {
    let attempts = 0;
    const broken = new Error('not yet');
    const fail = decorate((inner: Greeter) => {
      if (++attempts === 1) throw broken;
      return new Loud(inner);
    });
    const app = openApplication(greeter.pipe(singleton(), fail).to('IGreeter'));

    expect(() => app.resolve('IGreeter')).toThrow(broken);
    expect(app.resolve('IGreeter')).toBeInstanceOf(Loud);
    expect(app.resolve('IGreeter')).toBe(app.resolve('IGreeter'));
    expect(attempts).toBe(2);
  });

  it.each([
    ['by what was piped before it', true, ['disposed by the pipe', 'disposed by the pipe']],
    ['by its own way', false, ['disposed', 'disposed']],
  ])(
    'that throws loses nothing: what it should have wrapped is disposed with the scope, %s',
    async (_way, piped, disposals) => {
      const log: string[] = [];
      let attempts = 0;
      const fail = decorate((inner: object) => {
        if (++attempts === 1) throw new Error('not yet');
        return { inner };
      });
      const pool = Registration.fromFactory(() => ({ dispose: () => void log.push('disposed') })).pipe(singleton());
      const disposed = pool.pipe(
        onDispose(() => void log.push('disposed by the pipe')),
        fail,
        onStart(() => void log.push('started')),
      );
      const app = openApplication((piped ? disposed : pool.pipe(fail)).to('IPool'));
      expect(() => app.resolve('IPool')).toThrow('not yet');
      await app.start();
      app.resolve('IPool');
      await app.dispose();
      expect(log).toEqual([...(piped ? ['started'] : []), ...disposals]);
    },
  );
});

/** A service that notes its disposal. */
class Closable {
  constructor(
    readonly name: string,
    readonly disposed: string[],
  ) {}
  dispose() {
    this.disposed.push(this.name);
  }
}

const inner = (disposed: string[]) => Registration.fromFactory(() => new Closable('inner', disposed)).pipe(singleton());
const wrapped = (name: string) => decorate((layer: Closable) => new Closable(name, layer.disposed));
/** A layer without a disposer. */
const bare = decorate((layer: { disposed: string[] }) => ({ layer, disposed: layer.disposed }));

describe('a decorated singleton', () => {
  it('is disposed by its outermost layer alone, once: that layer has to dispose what it wraps', async () => {
    const disposed: string[] = [];
    const app = openApplication(inner(disposed).pipe(wrapped('wrapper'), wrapped('outermost')).to('IService'));
    app.resolve('IService');
    await app.dispose();

    expect(disposed).toEqual(['outermost']);
  });

  it('is disposed by the outermost layer that can be disposed', async () => {
    const disposed: string[] = [];
    const app = openApplication(
      inner(disposed).pipe(bare).to('IBare'),
      inner(disposed).pipe(wrapped('wrapper'), bare, bare).to('ITwiceBare'),
    );
    app.resolve('IBare');
    app.resolve('ITwiceBare');
    await app.dispose();

    expect(disposed).toEqual(['wrapper', 'inner']);
  });

  it('is disposed by onDispose in place of every layer', async () => {
    const disposed: string[] = [];
    const app = openApplication(
      inner(disposed)
        .pipe(
          wrapped('wrapper'),
          onDispose((layer: Closable) => disposed.push(`onDispose of the ${layer.name}`)),
        )
        .to('IService'),
    );
    app.resolve('IService');
    await app.dispose();

    expect(disposed).toEqual(['onDispose of the wrapper']);
  });

  it('gives an onDispose that stands before the decorator what its type says: the undecorated instance', async () => {
    const disposed: string[] = [];
    const app = openApplication(
      inner(disposed)
        .pipe(
          onDispose((made: Closable) => disposed.push(made.name)),
          bare,
        )
        .to('IService'),
    );
    app.resolve('IService');
    await app.dispose();

    expect(disposed).toEqual(['inner']);
  });
});

describe('a decorated value', () => {
  it('is not disposed when the decorator hands it back, singleton or not', async () => {
    const disposed: string[] = [];
    const value = Registration.fromValue(new Closable('value', disposed)).pipe(decorate((layer) => layer));
    const app = openApplication(value.to('IValue'), value.pipe(singleton()).to('IKept'));
    app.resolve('IValue');
    app.resolve('IKept');
    await app.dispose();

    expect(disposed).toEqual([]);
  });
});
