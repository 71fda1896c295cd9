import { type Static, Type } from 'typebox';
import { Id } from '../ids.js';

const fields = {
  name: Type.String({ minLength: 1, maxLength: 200, format: 'text' }),
  email: Type.String({ maxLength: 320, format: 'email' }),
};

export const NewUser = Type.Object(fields);
export type NewUser = Static<typeof NewUser>;

export const User = Type.Object({ id: Id, ...fields });
export type User = Static<typeof User>;

/** The schema that the spec gives the response to a creation: an id is returned, but not required. */
export const CreatedUser = Type.Object({
  id: Type.Optional(Type.String()),
  name: Type.String(),
  email: Type.String({ format: 'email' }),
});
