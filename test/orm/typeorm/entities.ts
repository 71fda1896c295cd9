import { EntitySchema } from 'typeorm';
import type { Author } from '../stories/stage.js';

export const AuthorEntity = new EntitySchema<Author>({
  name: 'author',
  tableName: 'authors',
  columns: { id: { type: 'int', primary: true }, name: { type: 'varchar' } },
});

interface BookRow {
  readonly id: number;
  readonly authorId: number;
  readonly name: string;
  readonly version: number;
  readonly author?: Author;
}

export const BookEntity = new EntitySchema<BookRow>({
  name: 'book',
  tableName: 'books',
  columns: {
    id: { type: 'int', primary: true },
    authorId: { type: 'int', name: 'author_id' },
    name: { type: 'varchar' },
    version: { type: 'int', version: true },
  },
  relations: { author: { type: 'many-to-one', target: 'author', joinColumn: { name: 'author_id' } } },
});

interface SampleRow {
  readonly id: number;
  readonly at: Date;
  readonly big: string;
  readonly data: unknown;
  readonly yes: boolean;
  readonly missing: string | null;
}

export const SampleEntity = new EntitySchema<SampleRow>({
  name: 'sample',
  tableName: 'samples',
  columns: {
    id: { type: 'int', primary: true },
    at: { type: 'timestamptz' },
    big: { type: 'bigint' },
    data: { type: 'jsonb' },
    yes: { type: 'boolean' },
    missing: { type: 'varchar', nullable: true },
  },
});
