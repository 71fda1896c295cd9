import type { Articles } from './articles.ts';
import type { Viewer } from './auth.ts';
import { ApiError, notFound } from './errors.ts';
import type { Profiles } from './profiles.ts';
import type { Db } from './tables.ts';

/** The comments of an article. */
export class Comments {
  readonly #db: Db;
  readonly #viewer: Viewer;
  readonly #articles: Articles;
  readonly #profiles: Profiles;

  constructor(db: Db, viewer: Viewer, articles: Articles, profiles: Profiles) {
    this.#db = db;
    this.#viewer = viewer;
    this.#articles = articles;
    this.#profiles = profiles;
  }

  async list(slug: string) {
    const { id: article } = await this.#articles.find(slug);
    const rows = await this.#db
      .selectFrom('comments')
      .selectAll()
      .where('article', '=', article)
      .orderBy('id', 'desc')
      .execute();
    const authors = await this.#profiles.byId(rows.map(({ author }) => author));
    return rows.map(({ id, body, created, author }) => ({
      id,
      body,
      createdAt: created,
      updatedAt: created,
      author: authors.get(author),
    }));
  }

  async add(slug: string, { body }: { readonly body: string }) {
    const { id: article } = await this.#articles.find(slug);
    const row = { article, author: this.#viewer.userId, body, created: new Date().toISOString() };
    await this.#db.insertInto('comments').values(row).execute();
    const [newest] = await this.list(slug);
    return newest;
  }

  async delete(slug: string, id: number): Promise<void> {
    const { id: article } = await this.#articles.find(slug);
    const comment = await this.#db
      .selectFrom('comments')
      .select('author')
      .where('id', '=', id)
      .where('article', '=', article)
      .executeTakeFirst();
    if (!comment) throw notFound('comment');
    if (comment.author !== this.#viewer.userId) throw new ApiError(403, { comment: ['is not yours'] });
    await this.#db.deleteFrom('comments').where('id', '=', id).execute();
  }
}
