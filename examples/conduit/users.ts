import { hashOf, isPassword, type Tokens, type Viewer } from './auth.ts';
import { ApiError } from './errors.ts';
import type { Db, Tables } from './tables.ts';
import type { Selectable } from 'kysely';

interface NewUser {
  readonly username: string;
  readonly email: string;
  readonly password: string;
}
type ChangedUser = Partial<NewUser & { readonly bio: string | null; readonly image: string | null }>;

/** Accounts: what users see and change of themselves. */
export class Users {
  readonly #db: Db;
  readonly #viewer: Viewer;
  readonly #tokens: Tokens;

  constructor(db: Db, viewer: Viewer, tokens: Tokens) {
    this.#db = db;
    this.#viewer = viewer;
    this.#tokens = tokens;
  }

  async register(user: NewUser) {
    await this.#refuseTaken(user);
    const stored = { ...user, password: await hashOf(user.password) };
    return this.#account(await this.#db.insertInto('users').values(stored).returningAll().executeTakeFirstOrThrow());
  }

  async login({ email, password }: Pick<NewUser, 'email' | 'password'>) {
    const user = await this.#db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst();
    if (!(await isPassword(password, user?.password)) || !user) throw new ApiError(401, { credentials: ['invalid'] });
    return this.#account(user);
  }

  async current() {
    const { userId } = this.#viewer;
    return this.#account(
      await this.#db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirstOrThrow(),
    );
  }

  async update({ password, ...changes }: ChangedUser) {
    await this.#refuseTaken(changes);
    const set = password === undefined ? changes : { ...changes, password: await hashOf(password) };
    if (Object.keys(set).length > 0)
      await this.#db.updateTable('users').set(set).where('id', '=', this.#viewer.userId).execute();
    return this.current();
  }

  /** Names what is taken. Of two requests at the same time, the unique index refuses the second. */
  async #refuseTaken({ username = '', email = '' }: ChangedUser): Promise<void> {
    const taken = await this.#db
      .selectFrom('users')
      .select(['username', 'email'])
      .where((eb) => eb.or([eb('username', '=', username), eb('email', '=', email)]))
      .where('id', '!=', this.#viewer.id ?? 0)
      .execute();
    const message = ['has already been taken'];
    if (taken.length > 0)
      throw new ApiError(422, {
        ...(taken.some((user) => user.username === username) && { username: message }),
        ...(taken.some((user) => user.email === email) && { email: message }),
      });
  }

  #account({ id, username, email, bio, image }: Selectable<Tables['users']>) {
    return { username, email, bio, image, token: this.#tokens.issue(id) };
  }
}
