import { currentScope, onDispose, onStart, Registration, singleton, type Container } from '../../../src/index.js';
import { expectNoOpenScopes, trackScopes } from '../../../src/tools.js';
import { asking } from '../asking.js';
import { openApplication, openRequest, openTransaction, perRequest } from '../scopes.js';

const fail = (what: string) => () => {
  throw new Error(what);
};

/** A request that was disposed. */
const disposed = (): Container => {
  const request = openRequest(openApplication(asking().to('IUsers')));
  void request.dispose();
  return request;
};

/** What goes wrong at start, during disposal, and after it. */
export const disposing = {
  AMBIT_START_FAILED: {
    'an onStart that rejects': () =>
      openApplication(
        asking()
          .pipe(
            singleton(),
            onStart(() => Promise.reject(new Error('connect ECONNREFUSED'))),
          )
          .to('IDatabasePool'),
      ).start(),
  },
  AMBIT_DISPOSED: {
    'resolve after disposal': () => disposed().resolve('IUsers'),
    'defer after disposal': () => disposed().defer(() => undefined),
    'resolve after disposal of a scope around it': () => {
      const request = openRequest(openApplication());
      const transaction = openTransaction(request);
      void request.dispose();
      return transaction.resolve('IUsers');
    },
  },
  AMBIT_DISPOSE_FAILED: {
    'one instance that fails to dispose': () => {
      const app = openApplication(
        asking()
          .pipe(singleton(), onDispose(fail('socket is closed')))
          .to('IDatabasePool'),
      );
      app.resolve('IDatabasePool');
      return app.dispose();
    },
    'several, in several scopes': () => {
      const app = openApplication(
        asking()
          .pipe(singleton(), onDispose(fail('socket is closed')))
          .to('IDatabasePool'),
        asking()
          .pipe(singleton(), perRequest, onDispose(fail('disk is full')))
          .to('IAuditLogger'),
        asking()
          .pipe(
            singleton(),
            perRequest,
            onDispose(() => Promise.reject('not an error')),
          )
          .to(Symbol.for('trace')),
      );
      const request = openRequest(app);
      request.resolve('IAuditLogger');
      request.resolve(Symbol.for('trace'));
      request.resolve('IDatabasePool');
      request.defer(fail('too late'));
      return app.dispose();
    },
  },
  AMBIT_NO_SCOPE: {
    'currentScope outside of runInScope': () => currentScope(),
  },
  AMBIT_UNDISPOSED: {
    'one scope left open': () => {
      const app = openApplication();
      openRequest(app);
      expectNoOpenScopes(app);
    },
    'several, while trackScopes is on': () => {
      trackScopes();
      try {
        const app = openApplication();
        openTransaction(openRequest(app));
        expectNoOpenScopes(app);
      } finally {
        trackScopes(false);
      }
    },
    'a dozen': () => {
      const app = openApplication(Registration.fromValue(1).to('IOne'));
      for (let i = 0; i < 12; i++) openRequest(app);
      expectNoOpenScopes(app);
    },
  },
};
