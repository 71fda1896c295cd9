import { currentScope } from '@ambit/container';
import type { Idempotency } from '@ambit/idempotency';
import { InjectScoped, Transactional } from '@ambit/nest';
import { afterCommit, type IConnection, type IDatabasePool } from '@ambit/transaction';
import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Get,
  Headers,
  Inject,
  Injectable,
  type PipeTransform,
  Post,
  Res,
  UseGuards,
} from '@nestjs/common';
import { type Caller, KnownCallers } from './caller.ts';

export interface NewOrder {
  readonly product: string;
  readonly quantity: number;
}

export interface Order extends NewOrder {
  readonly id: number;
}

/** On the connection of the transaction: it cannot be used where none is open. */
export class Orders {
  constructor(
    private readonly connection: IConnection,
    private readonly caller: Caller,
  ) {}

  async place({ product, quantity }: NewOrder): Promise<Order> {
    const [order] = await this.connection.query<{ id: number }>(
      'INSERT INTO orders (product, quantity, placed_by) VALUES ($1, $2, $3) RETURNING id',
      [product, quantity, this.caller.name],
    );
    const taken = await this.connection.query(
      'UPDATE stock SET level = level - $2 WHERE product = $1 AND level >= $2 RETURNING product',
      [product, quantity],
    );
    // The order above is rolled back.
    if (!order || taken.length === 0) throw new ConflictException(`There is not enough ${product} in stock`);
    return { id: order.id, product, quantity };
  }
}

/** Reads through the pool. */
export class OrderList {
  constructor(
    private readonly pool: IDatabasePool,
    private readonly caller: Caller,
  ) {}

  mine(): Promise<Order[]> {
    const sql = 'SELECT id, product, quantity FROM orders WHERE placed_by = $1 ORDER BY id';
    return this.pool.query<Order>(sql, [this.caller.name]);
  }
}

/** A provider of NestJS, made once, as all of them. */
@Injectable()
export class Mailer {
  readonly sent: string[] = [];

  send(to: string, { product, quantity }: Order): void {
    this.sent.push(`to ${to}: ${quantity} ${product}`);
  }
}

class ReadOrder implements PipeTransform<unknown, NewOrder> {
  transform(body: unknown): NewOrder {
    const { product, quantity } = Object(body) as Partial<Record<keyof NewOrder, unknown>>;
    if (typeof product !== 'string' || product === '') throw new BadRequestException('product must be a text');
    if (!Number.isInteger(quantity) || Number(quantity) < 1)
      throw new BadRequestException('quantity must be a whole number from 1 on');
    return { product, quantity: Number(quantity) };
  }
}

/** What the responses of Express and Fastify have in common. */
interface Reply {
  status(status: number): unknown;
  header(name: string, value: string): unknown;
}

@Controller('orders')
@UseGuards(KnownCallers)
export class OrdersController {
  constructor(
    @InjectScoped('IOrderList') private readonly list: OrderList,
    @InjectScoped('ICaller') private readonly caller: Caller,
    @InjectScoped('IIdempotency') private readonly keys: Idempotency,
    @Inject(Mailer) private readonly mailer: Mailer,
  ) {}

  @Get()
  mine(): Promise<Order[]> {
    return this.list.mine();
  }

  /** Responds after COMMIT. What any pipe, interceptor or service throws rolls back. */
  @Post()
  @Transactional()
  async place(
    @Body(ReadOrder) input: NewOrder,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<Order> {
    const { name } = this.caller;
    const transaction = currentScope();
    const { status, headers, body } = await this.keys.respond(
      transaction,
      { key, caller: name, endpoint: 'POST /orders', input },
      async () => {
        const order = await transaction.resolve<Orders>('IOrders').place(input);
        afterCommit(transaction, () => this.mailer.send(name, order));
        return { status: 201, body: order };
      },
    );
    reply.status(status);
    for (const [header, value] of Object.entries(headers)) reply.header(header, value);
    return body;
  }
}
