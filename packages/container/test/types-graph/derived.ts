import { Container, inject, lifetimes, type Services } from '@ambit/container';

// ServiceMap follows from the graph, with strict keys, and the decorator and the markers go on checking against it.
declare module '@ambit/container' {
  interface ServiceMap extends Services<typeof app> {}
  interface Settings {
    strictKeys: true;
  }
}

const { of, make, value, registered, lazy, all, optional, build } = lifetimes('application', 'request');

class Pool {
  constructor(readonly url: string) {}
}

class Users {
  constructor(@inject('IPool') readonly pool: Pool) {}
}

class Wrong {
  // error: 'url' does not fit parameter 0
  constructor(@inject('url') readonly pool: Pool) {}
}

class Unknown {
  // error: 'IPol' is not a key of ServiceMap
  constructor(@inject('IPol') readonly pool: Pool) {}
}

const app = build({
  url: value('postgres://localhost'),
  IPool: make('application', (url: string) => new Pool(url), ['url']),
  IUsers: of('request', Users, ['IPool']),
  IRequestSignal: registered('request').as<AbortSignal>(),
  ICount: make(
    'request',
    (users: () => Users, pools: Pool[], none?: AbortSignal) => [users().pool, pools, none].length,
    [lazy('IUsers'), all('IPool'), optional('IRequestSignal')],
  ),
  // A factory that resolves by itself names what it returns.
  IFirst: make('request', (scope): Users => scope.resolve('IUsers')),
});

const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
export const users: Users = container.resolve('IUsers');
export const count: number = container.resolve('ICount');
// error: Type 'number' is not assignable to type 'string'
export const text: string = container.resolve('ICount');
container.register('IRequestSignal', () => new AbortController().signal);
// error: 'IUser' is not a key of ServiceMap
container.resolve('IUser');
