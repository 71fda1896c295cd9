import { afterEach, describe, expect, it } from 'vitest';
import { Container, Registration, scope } from '@ambit/container';
import { hosts, type RunningApp } from './support/hosts.js';

describe.each(hosts)('an application that fails while the inspector looks at it on $name', (host) => {
  let app: RunningApp;

  afterEach(() => app.close());

  it.each(['/graph', '/explain?node=n0'])('keeps the message of its error to itself: %s', async (path) => {
    const container = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromValue(1)
        .pipe(
          scope(() => {
            throw new Error('no tenant 4711');
          }),
        )
        .to('ITenant'),
    );
    app = await host.start({ container }, {});
    const response = await fetch(`${app.url}/inspector${path}`);
    const text = await response.text();
    expect([response.status, text]).toEqual([500, expect.stringContaining('The inspector failed')]);
    expect(text).not.toContain('4711');
  });
});
