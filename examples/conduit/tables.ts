import type { IDatabasePool } from '@ambit/transaction';
import type { KyselyDialect } from '@ambit/orm/kysely';
import type { Generated, Kysely } from 'kysely';

/** The tables as Kysely sees them. */
export interface Tables {
  users: {
    id: Generated<number>;
    username: string;
    email: string;
    password: string;
    bio: string | null;
    image: string | null;
  };
  follows: { follower: number; followed: number };
  articles: {
    id: Generated<number>;
    slug: string;
    title: string;
    description: string;
    body: string;
    author: number;
    created: string;
    updated: string;
  };
  tags: { article: number; tag: string };
  favorites: { reader: number; article: number };
  comments: { id: Generated<number>; article: number; author: number; body: string; created: string };
}

/** What a repository asks for. It does not know whether its queries are part of a transaction. */
export type Db = Kysely<Tables>;

/** The same tables on both databases; only a key that the database assigns is written differently. */
export async function createTables(pool: IDatabasePool, dialect: KyselyDialect): Promise<void> {
  const id = dialect === 'postgres' ? 'id SERIAL PRIMARY KEY' : 'id INTEGER PRIMARY KEY';
  const user = 'INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE';
  const article = 'INTEGER NOT NULL REFERENCES articles (id) ON DELETE CASCADE';
  for (const table of [
    `users (${id}, username TEXT NOT NULL UNIQUE, email TEXT NOT NULL UNIQUE, password TEXT NOT NULL, bio TEXT, image TEXT)`,
    `follows (follower ${user}, followed ${user}, PRIMARY KEY (follower, followed))`,
    `articles (${id}, slug TEXT NOT NULL UNIQUE, title TEXT NOT NULL, description TEXT NOT NULL, body TEXT NOT NULL,
      author ${user}, created TEXT NOT NULL, updated TEXT NOT NULL)`,
    `tags (article ${article}, tag TEXT NOT NULL, PRIMARY KEY (article, tag))`,
    `favorites (reader ${user}, article ${article}, PRIMARY KEY (reader, article))`,
    `comments (${id}, article ${article}, author ${user}, body TEXT NOT NULL, created TEXT NOT NULL)`,
  ])
    await pool.query(`CREATE TABLE IF NOT EXISTS ${table}`);
}
