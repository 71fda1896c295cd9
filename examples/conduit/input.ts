import type { RequestHandler } from 'express';
import { ApiError } from './errors.ts';

/** Returns what a field holds, `undefined` to leave it out, or throws what is wrong with it. */
type Field = (value: unknown) => unknown;

const text: Field = (value) => {
  if (typeof value !== 'string' || value.trim() === '') throw new Error("can't be blank");
  return value;
};
const texts: Field = (value) => {
  if (!Array.isArray(value)) throw new Error('must be a list');
  return value.map(text);
};
const optional =
  (field: Field): Field =>
  (value) =>
    value === undefined ? undefined : field(value);
const nullable =
  (field: Field): Field =>
  (value) =>
    value === null || value === '' ? null : field(value);

/** A middleware that replaces the body `{ [name]: { ... } }` by its checked fields, or refuses it with 422. */
function input(name: string, fields: Readonly<Record<string, Field>>): RequestHandler {
  return (req, _res, next) => {
    const sent = Object(Object(req.body)[name]);
    const errors: Record<string, string[]> = {};
    req.body = {};
    for (const [field, read] of Object.entries(fields)) {
      try {
        const value = read(sent[field]);
        if (value !== undefined) req.body[field] = value;
      } catch (error) {
        errors[field] = [(error as Error).message];
      }
    }
    if (Object.keys(errors).length > 0) throw new ApiError(422, errors);
    next();
  };
}

export const credentials = input('user', { email: text, password: text });
export const newUser = input('user', { username: text, email: text, password: text });
export const changedUser = input('user', {
  username: optional(text),
  email: optional(text),
  password: optional(text),
  bio: optional(nullable(text)),
  image: optional(nullable(text)),
});
export const newArticle = input('article', { title: text, description: text, body: text, tagList: optional(texts) });
export const changedArticle = input('article', {
  title: optional(text),
  description: optional(text),
  body: optional(text),
});
export const newComment = input('comment', { body: text });
