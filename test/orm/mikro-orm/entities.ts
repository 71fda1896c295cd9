import { defineEntity, p } from '@mikro-orm/core';

export const AuthorEntity = defineEntity({
  name: 'Author',
  tableName: 'authors',
  properties: { id: p.integer().primary(), name: p.string() },
});

export const BookEntity = defineEntity({
  name: 'Book',
  tableName: 'books',
  properties: {
    id: p.integer().primary(),
    author: () => p.manyToOne(AuthorEntity).joinColumn('author_id'),
    name: p.string(),
    version: p.integer().version(),
  },
});

const sampleColumns = {
  id: p.integer().primary(),
  big: p.bigint(),
  data: p.json<unknown>(),
  yes: p.boolean(),
  missing: p.string().nullable(),
};

export const SampleEntity = defineEntity({
  name: 'Sample',
  tableName: 'samples',
  properties: { ...sampleColumns, at: p.datetime(3) },
});

/** MikroORM stores a Date as a number, for which the table has no column. */
export const SqliteSampleEntity = defineEntity({
  name: 'Sample',
  tableName: 'samples',
  properties: { ...sampleColumns, at: p.string() },
});
