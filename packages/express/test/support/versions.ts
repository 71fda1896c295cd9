import express from 'express';

type Create = typeof express;

/** `npm run check -- hosts` installs these; `npm test` runs on the newest alone. */
export const older: readonly (readonly [version: string, create: Create])[] = process.env['OLDER_EXPRESS']
  ? [
      // @ts-expect-error -- test/versions/express has them, with the types of no version
      ['Express 4.22', (await import('express-4')).default as Create],
      // @ts-expect-error -- as above
      ['Express 5.1 with router 2.2', (await import('express-5.1')).default as Create],
    ]
  : [];

/** Each with layers and routers of its own. Only the last publishes when a handler fails. */
export const versions: readonly (readonly [version: string, create: Create])[] = [...older, ['Express 5.3', express]];
