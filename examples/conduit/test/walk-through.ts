import { expect } from 'vitest';

interface Response {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/** Uses the whole API as Ada and Grace do, from an empty database. */
export async function walkThrough(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const send = async (method: string, path: string, token: string, sent?: object): Promise<Response> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...headers,
        ...(token && { authorization: `Token ${token}` }),
        ...(sent && { 'content-type': 'application/json' }),
      },
      ...(sent && { body: JSON.stringify(sent) }),
    });
    const text = await response.text();
    return { status: response.status, body: text && JSON.parse(text) };
  };

  // Users
  const account = { username: 'ada', email: 'ada@example.org', password: 'a secret' };
  const blank = await send('POST', '/users', '', { user: { username: ' ' } });
  const cannot = ["can't be blank"];
  expect(blank).toEqual({ status: 422, body: { errors: { username: cannot, email: cannot, password: cannot } } });
  expect((await send('POST', '/users', '')).status).toBe(422);
  const registered = await send('POST', '/users', '', { user: account });
  const ada: string = registered.body.user.token;
  const user = { username: 'ada', email: 'ada@example.org', bio: null, image: null, token: expect.any(String) };
  expect(registered).toEqual({ status: 201, body: { user } });
  const taken = ['has already been taken'];
  const twice = await send('POST', '/users', '', { user: account });
  expect(twice).toEqual({ status: 422, body: { errors: { username: taken, email: taken } } });
  expect(await send('POST', '/users/login', '', { user: account })).toEqual({ status: 200, body: { user } });
  const wrong = await send('POST', '/users/login', '', { user: { ...account, password: 'guessed' } });
  expect(wrong).toEqual({ status: 401, body: { errors: { credentials: ['invalid'] } } });
  for (const token of ['', 'a.b.c', `${ada}x`, ada.replace(/\..*\./, '.e30.')])
    expect((await send('GET', '/user', token)).status).toBe(401);
  expect(await send('GET', '/user', ada)).toEqual({ status: 200, body: { user } });
  const changed = await send('PUT', '/user', ada, { user: { bio: 'Analyst', image: '', password: 'another' } });
  expect(changed).toEqual({ status: 200, body: { user: { ...user, bio: 'Analyst' } } });
  expect((await send('POST', '/users/login', '', { user: account })).status).toBe(401);
  const second = { user: { username: 'grace', email: 'grace@example.org', password: 'cobol' } };
  const grace: string = (await send('POST', '/users', '', second)).body.user.token;
  const stolen = await send('PUT', '/user', grace, { user: { email: account.email } });
  expect(stolen).toEqual({ status: 422, body: { errors: { email: taken } } });

  // Profiles
  const profile = { username: 'ada', bio: 'Analyst', image: null, following: false };
  expect(await send('GET', '/profiles/ada', '')).toEqual({ status: 200, body: { profile } });
  expect((await send('GET', '/profiles/nobody', '')).status).toBe(404);
  expect((await send('POST', '/profiles/ada/follow', '')).status).toBe(401);
  const followed = { status: 200, body: { profile: { ...profile, following: true } } };
  expect(await send('POST', '/profiles/ada/follow', grace)).toEqual(followed);
  expect(await send('POST', '/profiles/ada/follow', grace)).toEqual(followed);
  expect(await send('GET', '/profiles/ada', grace)).toEqual(followed);
  expect(await send('GET', '/profiles/ada', ada)).toEqual({ status: 200, body: { profile } });

  // Articles
  const text = { title: 'On Engines', description: 'Notes', body: 'They weave.' };
  expect((await send('POST', '/articles', '', { article: text })).status).toBe(401);
  const untitled = await send('POST', '/articles', ada, { article: { ...text, title: '', tagList: 'engines' } });
  expect(untitled).toEqual({ status: 422, body: { errors: { title: cannot, tagList: ['must be a list'] } } });
  const written = await send('POST', '/articles', ada, {
    article: { ...text, tagList: ['looms', 'engines', 'looms'] },
  });
  const article = {
    ...text,
    slug: expect.stringMatching(/^on-engines-/),
    tagList: ['engines', 'looms'],
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    updatedAt: expect.any(String),
    favorited: false,
    favoritesCount: 0,
    author: profile,
  };
  expect(written).toEqual({ status: 201, body: { article } });
  const path = `/articles/${written.body.article.slug}`;
  expect(await send('GET', path, '')).toEqual({ status: 200, body: { article } });
  const notFound = { status: 404, body: { errors: { article: ['not found'] } } };
  expect(await send('GET', '/articles/nothing', '')).toEqual(notFound);
  expect((await send('PUT', path, grace, { article: { body: 'Mine.' } })).status).toBe(403);
  const update = await send('PUT', path, ada, { article: { body: 'They compute.' } });
  expect(update.body.article).toEqual({ ...article, body: 'They compute.' });
  const renamed = await send('PUT', path, ada, { article: { title: 'On Machines' } });
  expect(renamed.body.article).toMatchObject({ title: 'On Machines', slug: expect.stringMatching(/^on-machines-/) });
  const renamedPath = `/articles/${renamed.body.article.slug}`;
  expect(await send('GET', path, '')).toEqual(notFound);

  // Favorites
  const favorite = await send('POST', `${renamedPath}/favorite`, grace);
  expect(favorite.body.article).toMatchObject({ favorited: true, favoritesCount: 1 });
  expect((await send('GET', renamedPath, ada)).body.article).toMatchObject({ favorited: false, favoritesCount: 1 });
  expect((await send('POST', `${renamedPath}/favorite`, '')).status).toBe(401);
  expect(await send('POST', '/articles/nothing/favorite', grace)).toEqual(notFound);

  // Lists
  const newest = await send('POST', '/articles', ada, { article: { ...text, title: 'Newer' } });
  const titles = async (query: string, token = ''): Promise<readonly unknown[]> => {
    const { status, body } = await send('GET', `/articles${query}`, token);
    expect(status).toBe(200);
    return [body.articlesCount, ...body.articles.map(({ title }: { title: string }) => title)];
  };
  expect(await titles('')).toEqual([2, 'Newer', 'On Machines']);
  expect(await titles('?limit=1&offset=1')).toEqual([2, 'On Machines']);
  expect(await titles('?tag=looms')).toEqual([1, 'On Machines']);
  expect(await titles('?author=ada')).toEqual([2, 'Newer', 'On Machines']);
  expect(await titles('?author=grace')).toEqual([0]);
  expect(await titles('?favorited=grace')).toEqual([1, 'On Machines']);
  expect(await titles('/feed', grace)).toEqual([2, 'Newer', 'On Machines']);
  expect(await titles('/feed', ada)).toEqual([0]);
  expect((await send('GET', '/articles/feed', '')).status).toBe(401);
  const [shown] = (await send('GET', '/articles?tag=looms', grace)).body.articles;
  expect(shown).toMatchObject({ favorited: true, author: { username: 'ada', following: true } });
  expect(shown).not.toHaveProperty('body');
  expect(await send('GET', '/tags', '')).toEqual({ status: 200, body: { tags: ['engines', 'looms'] } });

  // Comments
  const comments = `${renamedPath}/comments`;
  expect((await send('POST', comments, grace, { comment: { body: '' } })).body).toEqual({ errors: { body: cannot } });
  const added = await send('POST', comments, grace, { comment: { body: 'Well said.' } });
  const comment = {
    id: expect.any(Number),
    body: 'Well said.',
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
    author: { username: 'grace', bio: null, image: null, following: false },
  };
  expect(added).toEqual({ status: 200, body: { comment } });
  expect(await send('GET', comments, '')).toEqual({ status: 200, body: { comments: [comment] } });
  expect(await send('GET', '/articles/nothing/comments', '')).toEqual(notFound);
  const commentPath = `${comments}/${added.body.comment.id}`;
  expect((await send('DELETE', commentPath, ada)).status).toBe(403);
  expect((await send('DELETE', `${comments}/0`, grace)).status).toBe(404);
  expect(await send('DELETE', commentPath, grace)).toEqual({ status: 204, body: '' });
  expect(await send('GET', comments, '')).toEqual({ status: 200, body: { comments: [] } });

  // The other way round
  const disliked = await send('DELETE', `${renamedPath}/favorite`, grace);
  expect(disliked.body.article).toMatchObject({ favorited: false, favoritesCount: 0 });
  const unfollowed = await send('DELETE', '/profiles/ada/follow', grace);
  expect(unfollowed).toEqual({ status: 200, body: { profile } });
  expect((await send('DELETE', renamedPath, grace)).status).toBe(403);
  expect(await send('DELETE', renamedPath, ada)).toEqual({ status: 204, body: '' });
  expect(await send('DELETE', `/articles/${newest.body.article.slug}`, ada)).toEqual({ status: 204, body: '' });
  expect(await titles('')).toEqual([0]);
  expect((await send('GET', '/nowhere', '')).status).toBe(404);
}
