import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { v7 } from 'uuid';

export const Id = Type.String({ format: 'uuid' });
const idCheck = Compile(Id);

/** A UUID of version 7: ids sort by the time they were made, so that inserts stay local and lists are oldest first. */
export const newId = (): string => v7();

/** The id as it is stored, or undefined when it can be nobody's. */
export const storedId = (text: string): string | undefined => (idCheck.Check(text) ? text.toLowerCase() : undefined);
