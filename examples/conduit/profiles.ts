import type { Viewer } from './auth.ts';
import { notFound } from './errors.ts';
import type { Db } from './tables.ts';

export interface Profile {
  readonly username: string;
  readonly bio: string | null;
  readonly image: string | null;
  readonly following: boolean;
}

/** Other users, as the viewer sees them. */
export class Profiles {
  readonly #db: Db;
  readonly #viewer: Viewer;

  constructor(db: Db, viewer: Viewer) {
    this.#db = db;
    this.#viewer = viewer;
  }

  async get(username: string): Promise<Profile> {
    const user = await this.#idOf(username);
    return this.byId([user]).then((profiles) => profiles.get(user) as Profile);
  }

  /** The authors of a list, in one query. */
  async byId(ids: readonly number[]): Promise<ReadonlyMap<number, Profile>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('users')
      .leftJoin('follows', (join) => join.onRef('followed', '=', 'users.id').on('follower', '=', this.#viewer.id ?? 0))
      .select(['users.id', 'username', 'bio', 'image', 'follower'])
      .where('users.id', 'in', ids)
      .execute();
    return new Map(rows.map(({ id, follower, ...user }) => [id, { ...user, following: follower !== null }]));
  }

  async follow(username: string): Promise<Profile> {
    const follows = { follower: this.#viewer.userId, followed: await this.#idOf(username) };
    await this.#db
      .insertInto('follows')
      .values(follows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return this.get(username);
  }

  async unfollow(username: string): Promise<Profile> {
    const followed = await this.#idOf(username);
    await this.#db
      .deleteFrom('follows')
      .where('follower', '=', this.#viewer.userId)
      .where('followed', '=', followed)
      .execute();
    return this.get(username);
  }

  async #idOf(username: string): Promise<number> {
    const user = await this.#db.selectFrom('users').select('id').where('username', '=', username).executeTakeFirst();
    if (!user) throw notFound('profile');
    return user.id;
  }
}
