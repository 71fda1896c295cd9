import { type Static, Type } from 'typebox';
import { idOf } from '../ids.js';

const fields = {
  name: Type.String({ minLength: 1, maxLength: 200, format: 'text', description: 'The full name.' }),
  email: Type.String({
    maxLength: 320,
    format: 'email',
    description: 'An email address. Several users may have the same.',
  }),
};

export const NewUser = Type.Object(fields);
export type NewUser = Static<typeof NewUser>;

export const User = Type.Object({
  id: idOf('Assigned by the service, a UUID. Ids sort by time of creation.'),
  ...fields,
});
export type User = Static<typeof User>;

/** The schema that the spec gives the response to a creation: an id is returned, but not required. */
export const CreatedUser = Type.Object({
  id: Type.Optional(Type.String()),
  name: Type.String(),
  email: Type.String({ format: 'email' }),
});
