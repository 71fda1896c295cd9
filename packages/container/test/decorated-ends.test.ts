import { describe, expect, it } from 'vitest';
import { decorate, onDispose, Registration, singleton } from '../src/index.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

/** A service that notes its end. */
class Ending {
  constructor(
    readonly name: string,
    readonly ended: string[],
  ) {}
  dispose() {
    this.ended.push(this.name);
  }
}

const inner = (ended: string[]) => Registration.fromFactory(() => new Ending('inner', ended)).pipe(singleton());
const wrapped = (name: string) => decorate((layer: Ending) => new Ending(name, layer.ended));
/** A layer that nothing can end. */
const bare = decorate((layer: { ended: string[] }) => ({ layer, ended: layer.ended }));

describe('a decorated singleton', () => {
  it('is ended by its outermost layer alone, once: what that wraps is its own to end', async () => {
    const ended: string[] = [];
    const app = openApplication(inner(ended).pipe(wrapped('wrapper'), wrapped('outermost')).to('IService'));
    app.resolve('IService');
    await app.dispose();

    expect(ended).toEqual(['outermost']);
  });

  it('of a request is ended with the request', async () => {
    const ended: string[] = [];
    const request = openRequest(openApplication(inner(ended).pipe(perRequest, wrapped('wrapper')).to('IService')));
    request.resolve('IService');
    await request.dispose();

    expect(ended).toEqual(['wrapper']);
  });

  it('is ended by the outermost layer that can be ended', async () => {
    const ended: string[] = [];
    const app = openApplication(
      inner(ended).pipe(bare).to('IBare'),
      inner(ended).pipe(wrapped('wrapper'), bare, bare).to('ITwiceBare'),
    );
    app.resolve('IBare');
    app.resolve('ITwiceBare');
    await app.dispose();

    expect(ended).toEqual(['wrapper', 'inner']);
  });

  it('is ended once when the decorator hands back what it got', async () => {
    const ended: string[] = [];
    const app = openApplication(
      inner(ended)
        .pipe(decorate((layer) => layer))
        .to('IService'),
    );
    app.resolve('IService');
    await app.dispose();

    expect(ended).toEqual(['inner']);
  });

  it('is ended by onDispose in place of every layer', async () => {
    const ended: string[] = [];
    const app = openApplication(
      inner(ended)
        .pipe(
          wrapped('wrapper'),
          onDispose((layer: Ending) => ended.push(`onDispose of the ${layer.name}`)),
        )
        .to('IService'),
    );
    app.resolve('IService');
    await app.dispose();

    expect(ended).toEqual(['onDispose of the wrapper']);
  });

  it('gives an onDispose that stands before the decorator what its type promises: the undecorated instance', async () => {
    const ended: string[] = [];
    const app = openApplication(
      inner(ended)
        .pipe(
          onDispose((made: Ending) => ended.push(made.name)),
          bare,
        )
        .to('IService'),
    );
    app.resolve('IService');
    await app.dispose();

    expect(ended).toEqual(['inner']);
  });
});

describe('a decorated registration without singleton', () => {
  it('is not ended, neither wrapper nor inner', async () => {
    const ended: string[] = [];
    const app = openApplication(
      Registration.fromFactory(() => new Ending('inner', ended))
        .pipe(wrapped('wrapper'))
        .to('IMade'),
      Registration.fromValue(new Ending('value', ended)).pipe(wrapped('wrapper')).to('IValue'),
    );
    app.resolve('IMade');
    app.resolve('IValue');
    await app.dispose();

    expect(ended).toEqual([]);
  });
});

describe('a decorated value', () => {
  it('is not ended when the decorator hands it back, singleton or not', async () => {
    const ended: string[] = [];
    const value = Registration.fromValue(new Ending('value', ended)).pipe(decorate((layer) => layer));
    const app = openApplication(value.to('IValue'), value.pipe(singleton()).to('IKept'));
    app.resolve('IValue');
    app.resolve('IKept');
    await app.dispose();

    expect(ended).toEqual([]);
  });

  it('is not ended under a wrapper that is kept, whether or not that can be ended', async () => {
    const ended: string[] = [];
    const value = Registration.fromValue(new Ending('value', ended)).pipe(singleton());
    const app = openApplication(value.pipe(bare).to('IBare'), value.pipe(wrapped('wrapper')).to('IWrapped'));
    app.resolve('IBare');
    app.resolve('IWrapped');
    await app.dispose();

    expect(ended).not.toContain('value');
  });
});
