import 'reflect-metadata';
import {
  BadRequestException,
  Body,
  Catch,
  Controller,
  Get,
  HttpException,
  Inject,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  Scope,
} from '@nestjs/common';
import { HttpAdapterHost, NestFactory, REQUEST } from '@nestjs/core';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { newOrderSchema, newUserSchema, openLog } from './hand-written.mjs';
import { openDatabase } from './hand-database.mjs';
import { AuditLogger, Inventory, OrderRepository, RequestContext, UserRepository } from './nest-services.mjs';

class UsersController {
  constructor(users, audit) {
    this.users = users;
    this.audit = audit;
  }
  async list() {
    const users = await this.users.findAll();
    this.audit.record('users_listed', { count: users.length });
    return users;
  }
  async get(id) {
    const user = await this.users.findById(id);
    if (!user) throw new NotFoundException('User not found');
    return user;
  }
  async create(body) {
    const user = await this.users.create(body);
    this.audit.record('user_created', { userId: user.id });
    return user;
  }
}

class OrdersController {
  constructor(database, orders, inventory, audit) {
    Object.assign(this, { database, orders, inventory, audit });
  }
  create(body) {
    return this.database.transaction(async (connection) => {
      const order = await this.orders.create(connection, body);
      await this.inventory.reserve(connection, order.items);
      this.audit.record('order_created', { orderId: order.id });
      return order;
    });
  }
}

class AnyErrorFilter {
  constructor({ httpAdapter }, log) {
    this.adapter = httpAdapter;
    this.log = log;
  }
  catch(err, host) {
    const status = err instanceof HttpException ? err.getStatus() : (err.statusCode ?? 500);
    if (status >= 500) this.log.error({ msg: 'request failed', err });
    const error = status >= 500 ? 'Internal Server Error' : err.message;
    this.adapter.reply(host.switchToHttp().getResponse(), { error }, status);
  }
}

/** A pipe that validates with the schema that the hand-written code has on its route. */
function bodyOf(schema) {
  const ajv = new Ajv({ removeAdditional: true });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  return Body({
    transform(body) {
      if (validate(body)) return body;
      throw new BadRequestException(ajv.errorsText(validate.errors, { dataVar: 'body' }));
    },
  });
}

/** Decorators are functions, so no compiler is needed. */
function decorate(type, method, route, parameter) {
  parameter?.(type.prototype, method, 0);
  route(type.prototype, method, Object.getOwnPropertyDescriptor(type.prototype, method));
}
decorate(UsersController, 'list', Get());
decorate(UsersController, 'get', Get(':id'), Param('id'));
decorate(UsersController, 'create', Post(), bodyOf(newUserSchema));
decorate(OrdersController, 'create', Post(), bodyOf(newOrderSchema));
Controller('api/users')(UsersController);
Controller('api/orders')(OrdersController);
Catch()(AnyErrorFilter);

function injectable(type, keys, options) {
  keys.forEach((key, index) => Inject(key)(type, undefined, index));
  if (options) Injectable(options)(type);
  return type;
}

/** `prepare(app, log)` gives every request an id, a header with it, and a line in the log, in the way of the adapter. */
export async function startNest(adapter, prepare) {
  const log = openLog();
  const perRequest = { scope: Scope.REQUEST };
  const providers = [
    { provide: 'log', useValue: log },
    { provide: 'database', useValue: openDatabase() },
    injectable(RequestContext, [REQUEST], perRequest),
    injectable(AuditLogger, ['log', RequestContext], perRequest),
    injectable(UserRepository, ['database'], perRequest),
    injectable(OrderRepository, [RequestContext], perRequest),
    injectable(Inventory, [RequestContext], perRequest),
    injectable(AnyErrorFilter, [HttpAdapterHost, 'log'], {}),
  ];
  const controllers = [
    injectable(UsersController, [UserRepository, AuditLogger]),
    injectable(OrdersController, ['database', OrderRepository, Inventory, AuditLogger]),
  ];

  class AppModule {}
  Module({ controllers, providers })(AppModule);

  const app = await NestFactory.create(AppModule, adapter, { logger: false });
  app.useGlobalFilters(app.get(AnyErrorFilter));
  prepare(app, log);
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}
