import { describe, expect, it } from 'vitest';
import { decorate, onDispose, Registration, singleton } from '../src/index.js';
import { openApplication } from './support/scopes.js';

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
