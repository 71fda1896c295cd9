import { resolve, withTransaction } from '@ambit/express';
import { type Request, Router } from 'express';
import { signedIn } from './auth.ts';
import { changedArticle, changedUser, credentials, newArticle, newComment, newUser } from './input.ts';

/** Behind another middleware, Express does not know the parameters of a path any more. */
const param = ({ params }: Pick<Request, 'params'>, name: string): string => String(params[name]);

/**
 * The RealWorld API. Reads use the scope of the request. A write is checked first, without a connection; then
 * `withTransaction()` begins, and its response is sent after COMMIT.
 */
export const api = Router();

api.post('/users', newUser, withTransaction(), async (req, res) => {
  res.status(201).json({ user: await resolve(req, 'IUsers').register(req.body) });
});
api.post('/users/login', credentials, async (req, res) => {
  res.json({ user: await resolve(req, 'IUsers').login(req.body) });
});
api.get('/user', signedIn, async (req, res) => {
  res.json({ user: await resolve(req, 'IUsers').current() });
});
api.put('/user', signedIn, changedUser, withTransaction(), async (req, res) => {
  res.json({ user: await resolve(req, 'IUsers').update(req.body) });
});

api.get('/profiles/:username', async (req, res) => {
  res.json({ profile: await resolve(req, 'IProfiles').get(param(req, 'username')) });
});
api.post('/profiles/:username/follow', signedIn, withTransaction(), async (req, res) => {
  res.json({ profile: await resolve(req, 'IProfiles').follow(param(req, 'username')) });
});
api.delete('/profiles/:username/follow', signedIn, withTransaction(), async (req, res) => {
  res.json({ profile: await resolve(req, 'IProfiles').unfollow(param(req, 'username')) });
});

api.get('/articles', async (req, res) => {
  res.json(await resolve(req, 'IArticles').list(req.query));
});
api.get('/articles/feed', signedIn, async (req, res) => {
  res.json(await resolve(req, 'IArticles').feed(req.query));
});
api.get('/articles/:slug', async (req, res) => {
  res.json({ article: await resolve(req, 'IArticles').get(param(req, 'slug')) });
});
api.post('/articles', signedIn, newArticle, withTransaction(), async (req, res) => {
  res.status(201).json({ article: await resolve(req, 'IArticles').create(req.body) });
});
api.put('/articles/:slug', signedIn, changedArticle, withTransaction(), async (req, res) => {
  res.json({ article: await resolve(req, 'IArticles').update(param(req, 'slug'), req.body) });
});
api.delete('/articles/:slug', signedIn, withTransaction(), async (req, res) => {
  await resolve(req, 'IArticles').delete(param(req, 'slug'));
  res.status(204).end();
});
api.post('/articles/:slug/favorite', signedIn, withTransaction(), async (req, res) => {
  res.json({ article: await resolve(req, 'IArticles').favorite(param(req, 'slug')) });
});
api.delete('/articles/:slug/favorite', signedIn, withTransaction(), async (req, res) => {
  res.json({ article: await resolve(req, 'IArticles').unfavorite(param(req, 'slug')) });
});

api.get('/articles/:slug/comments', async (req, res) => {
  res.json({ comments: await resolve(req, 'IComments').list(param(req, 'slug')) });
});
api.post('/articles/:slug/comments', signedIn, newComment, withTransaction(), async (req, res) => {
  res.json({ comment: await resolve(req, 'IComments').add(param(req, 'slug'), req.body) });
});
api.delete('/articles/:slug/comments/:id', signedIn, withTransaction(), async (req, res) => {
  await resolve(req, 'IComments').delete(param(req, 'slug'), Number(param(req, 'id')));
  res.status(204).end();
});

api.get('/tags', async (req, res) => {
  res.json({ tags: await resolve(req, 'IArticles').tags() });
});
