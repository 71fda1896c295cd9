import { Container } from '@ambit/container';
import { containerMiddleware, withDeps, withTransaction } from '@ambit/express';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';

/** `exactly<A>()(b)(true)` compiles when the type of `b` is `A` and nothing else. */
const exactly =
  <A>() =>
  <B>(_value: B) =>
  (_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void => {};

interface OrderParams {
  readonly orderId: string;
}
interface Order {
  readonly id: number;
}

const container = new Container();
const app = express();

// Before our middlewares and behind them, the parameters of the path are typed as without them.
app.post('/orders/:orderId', (req) => exactly<string>()(req.params.orderId)(true));
app.post('/orders/:orderId', withTransaction(), (req) => {
  exactly<string>()(req.params.orderId)(true);
  // error: Property 'missing' does not exist
  req.params.missing;
});
app.post('/orders/:orderId', containerMiddleware(container), withTransaction({ readOnly: true }), (req) =>
  exactly<string>()(req.params.orderId)(true),
);
Router().get('/orders/:orderId', withTransaction(), (req) => exactly<string>()(req.params.orderId)(true));
app.route('/orders/:orderId').post(withTransaction(), (req) => exactly<string>()(req.params.orderId)(true));
app.use('/orders/:orderId', withTransaction());

// A handler that says its types itself is taken behind them.
app.post('/orders/:orderId', withTransaction(), (req: Request<OrderParams, Order, Order>, res: Response<Order>) => {
  exactly<OrderParams>()(req.params)(true);
  res.json(req.body);
});
const typed: RequestHandler<OrderParams, Order, Order, { dry?: string }> = (req, res) => void res.json(req.body);
app.post('/orders/:orderId', withTransaction(), typed);
app.post(
  '/orders/:orderId',
  withTransaction(),
  withDeps({}, (req: Request<OrderParams>) => req.params.orderId),
);
const list: RequestHandler<OrderParams, Order, Order, { dry?: string }>[] = [withTransaction(), typed];
app.post<OrderParams, Order, Order, { dry?: string }>('/orders/:orderId', ...list);
const middleware: RequestHandler = withTransaction();
app.use(middleware);
