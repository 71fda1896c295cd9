import { randomUUID } from 'node:crypto';
import type { Viewer } from './auth.ts';
import { ApiError, notFound } from './errors.ts';
import type { Profiles } from './profiles.ts';
import type { SelectQueryBuilder } from 'kysely';
import type { Db, Tables } from './tables.ts';

interface NewArticle {
  readonly title: string;
  readonly description: string;
  readonly body: string;
  readonly tagList?: readonly string[];
}

interface Page {
  readonly limit?: string;
  readonly offset?: string;
}

interface Filter extends Page {
  readonly tag?: string;
  readonly author?: string;
  readonly favorited?: string;
}

/** Articles with their tags and favorites. Inside a transaction, `Profiles` is that of the transaction, too. */
export class Articles {
  readonly #db: Db;
  readonly #viewer: Viewer;
  readonly #profiles: Profiles;

  constructor(db: Db, viewer: Viewer, profiles: Profiles) {
    this.#db = db;
    this.#viewer = viewer;
    this.#profiles = profiles;
  }

  async get(slug: string) {
    const { id, body } = await this.find(slug);
    const [article] = await this.#show([id]);
    return { ...article, body };
  }

  async list({ tag, author, favorited, ...page }: Filter) {
    let matching = this.#db.selectFrom('articles');
    if (tag !== undefined)
      matching = matching.where('id', 'in', (eb) => eb.selectFrom('tags').select('article').where('tag', '=', tag));
    if (author !== undefined)
      matching = matching.where('author', 'in', (eb) =>
        eb.selectFrom('users').select('id').where('username', '=', author),
      );
    if (favorited !== undefined)
      matching = matching.where('id', 'in', (eb) =>
        eb
          .selectFrom('favorites')
          .innerJoin('users', 'users.id', 'reader')
          .select('article')
          .where('username', '=', favorited),
      );
    return this.#page(matching, page);
  }

  async feed(page: Page) {
    const followed = this.#db.selectFrom('follows').select('followed').where('follower', '=', this.#viewer.userId);
    return this.#page(this.#db.selectFrom('articles').where('author', 'in', followed), page);
  }

  async create({ tagList = [], ...article }: NewArticle) {
    const created = new Date().toISOString();
    const slug = slugOf(article.title);
    const row = { ...article, slug, author: this.#viewer.userId, created, updated: created };
    const { id } = await this.#db.insertInto('articles').values(row).returning('id').executeTakeFirstOrThrow();
    const tags = Array.from(new Set(tagList), (tag) => ({ article: id, tag }));
    if (tags.length > 0) await this.#db.insertInto('tags').values(tags).execute();
    return this.get(slug);
  }

  async update(slug: string, changes: Partial<Omit<NewArticle, 'tagList'>>) {
    const { id } = await this.#findOwn(slug);
    const { slug: current } = await this.#db
      .updateTable('articles')
      .set({ ...changes, updated: new Date().toISOString() })
      .$if(changes.title !== undefined, (query) => query.set({ slug: slugOf(changes.title ?? '') }))
      .where('id', '=', id)
      .returning('slug')
      .executeTakeFirstOrThrow();
    return this.get(current);
  }

  async delete(slug: string): Promise<void> {
    const { id } = await this.#findOwn(slug);
    await this.#db.deleteFrom('articles').where('id', '=', id).execute();
  }

  async favorite(slug: string) {
    const row = { reader: this.#viewer.userId, article: (await this.find(slug)).id };
    await this.#db
      .insertInto('favorites')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return this.get(slug);
  }

  async unfavorite(slug: string) {
    const { id } = await this.find(slug);
    await this.#db
      .deleteFrom('favorites')
      .where('reader', '=', this.#viewer.userId)
      .where('article', '=', id)
      .execute();
    return this.get(slug);
  }

  async tags(): Promise<string[]> {
    const rows = await this.#db.selectFrom('tags').select('tag').distinct().orderBy('tag').execute();
    return rows.map(({ tag }) => tag);
  }

  async find(slug: string) {
    const article = await this.#db
      .selectFrom('articles')
      .select(['id', 'author', 'body'])
      .where('slug', '=', slug)
      .executeTakeFirst();
    if (!article) throw notFound('article');
    return article;
  }

  async #page(matching: SelectQueryBuilder<Tables, 'articles', object>, { limit, offset }: Page) {
    const { count } = await matching.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
    const page = matching
      .select('id')
      .orderBy('id', 'desc')
      .limit(wholeNumber(limit, 20))
      .offset(wholeNumber(offset, 0));
    const articles = await this.#show((await page.execute()).map(({ id }) => id));
    return { articles, articlesCount: Number(count) };
  }

  /** Without their bodies, the newest first: three queries, however many articles there are. */
  async #show(ids: readonly number[]) {
    if (ids.length === 0) return [];
    const rows = await this.#db
      .selectFrom('articles')
      .select(['id', 'slug', 'title', 'description', 'author', 'created', 'updated'])
      .select((eb) => {
        const favorites = eb.selectFrom('favorites').whereRef('article', '=', 'articles.id');
        const count = favorites.select(({ fn }) => fn.countAll().as('count'));
        return [count.as('favorites'), count.where('reader', '=', this.#viewer.id ?? 0).as('own')];
      })
      .where('id', 'in', ids)
      .orderBy('id', 'desc')
      .execute();
    const tags = await this.#db.selectFrom('tags').selectAll().where('article', 'in', ids).orderBy('tag').execute();
    const authors = await this.#profiles.byId(rows.map(({ author }) => author));
    return rows.map(({ id, created, updated, favorites, own, author, ...article }) => ({
      ...article,
      tagList: tags.filter((row) => row.article === id).map(({ tag }) => tag),
      createdAt: created,
      updatedAt: updated,
      favorited: Number(own) > 0,
      favoritesCount: Number(favorites),
      author: authors.get(author),
    }));
  }

  async #findOwn(slug: string) {
    const article = await this.find(slug);
    if (article.author !== this.#viewer.userId) throw new ApiError(403, { article: ['is not yours'] });
    return article;
  }
}

/** Two articles may have the same title. */
const slugOf = (title: string): string =>
  `${title.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')}-${randomUUID().slice(0, 8)}`;

function wholeNumber(text: string | undefined, fallback: number): number {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : fallback;
}
