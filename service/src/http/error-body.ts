import { type Static, Type } from 'typebox';

/** Every answer that is an error has this body. */
export const ErrorBody = Type.Object({ error: Type.String() }, { additionalProperties: false });
export type ErrorBody = Static<typeof ErrorBody>;
