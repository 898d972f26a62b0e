/** Records every ended span in a test, in place of an OpenTelemetry SDK. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import {
  type Attributes,
  type AttributeValue,
  type Context,
  context,
  type ContextManager,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  type SpanStatus,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'

export interface Recorded {
  readonly name: string
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  /** The parent span, or null for the first span of a trace. */
  readonly parent: string | null
  readonly links: readonly string[]
  readonly attributes: Attributes
  readonly isError: boolean
}

export class TestTraces implements TracerProvider {
  readonly ended: Recorded[] = []
  /** The ended spans of statements. */
  readonly statements: Recorded[] = []
  /** The number of spans that began and did not end. */
  open = 0
  #heard: (() => void)[] = []

  /** Registers globally. With `keepsContext`, spans of the application are children of the service's spans, as with an SDK. */
  register({ keepsContext = true } = {}): this {
    trace.setGlobalTracerProvider(this)
    if (keepsContext) context.setGlobalContextManager(new KeepsContext())
    return this
  }

  unregister(): void {
    trace.disable()
    context.disable()
  }

  getTracer(): Tracer {
    const startSpan: Tracer['startSpan'] = (name, options = {}, around = context.active()) =>
      new TestSpan(this, name, options, options.root === true ? undefined : trace.getSpanContext(around))
    const startActiveSpan = (name: string, ...rest: unknown[]): unknown => {
      const work = rest.at(-1) as (span: Span) => unknown
      const span = startSpan(name)
      return context.with(trace.setSpan(context.active(), span), () => work(span))
    }
    return { startSpan, startActiveSpan }
  }

  keep(recorded: Recorded): void {
    if ('db.query.text' in recorded.attributes) this.statements.push(recorded)
    else this.ended.push(recorded)
    for (const tell of this.#heard.splice(0)) tell()
  }

  named(name: string): Recorded[] {
    return this.ended.filter((span) => span.name === name)
  }

  /** Waits for the first ended span with this name. */
  async has(name: string): Promise<Recorded> {
    for (;;) {
      const [found] = this.named(name)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => this.#heard.push(resolve))
    }
  }
}

class TestSpan implements Span {
  readonly #traces: TestTraces
  readonly #context: SpanContext
  readonly #parent: string | null
  readonly #options: SpanOptions
  readonly #attributes: Attributes
  #name: string
  #status: SpanStatus = { code: SpanStatusCode.UNSET }

  constructor(traces: TestTraces, name: string, options: SpanOptions, parent: SpanContext | undefined) {
    this.#traces = traces
    this.#name = name
    this.#options = options
    this.#attributes = { ...options.attributes }
    this.#parent = parent?.spanId ?? null
    this.#context = {
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      traceFlags: TraceFlags.SAMPLED,
      ...(parent?.traceState === undefined ? {} : { traceState: parent.traceState }),
    }
    traces.open += 1
  }

  spanContext(): SpanContext {
    return this.#context
  }

  setAttribute(key: string, value: AttributeValue): this {
    this.#attributes[key] = value
    return this
  }

  setAttributes(attributes: Attributes): this {
    Object.assign(this.#attributes, attributes)
    return this
  }

  setStatus(status: SpanStatus): this {
    this.#status = status
    return this
  }

  updateName(name: string): this {
    this.#name = name
    return this
  }

  isRecording(): boolean {
    return true
  }

  end(): void {
    this.#traces.open -= 1
    const { kind = SpanKind.INTERNAL, links = [] } = this.#options
    this.#traces.keep({
      name: this.#name,
      kind: SpanKind[kind],
      traceId: this.#context.traceId,
      spanId: this.#context.spanId,
      parent: this.#parent,
      links: links.map(({ context: linked }: Link) => linked.spanId),
      attributes: this.#attributes,
      isError: this.#status.code === SpanStatusCode.ERROR,
    })
  }

  addEvent(): this {
    throw new Error('The service must not add events to spans')
  }

  addLink(): this {
    throw new Error('The service must pass links when a span begins')
  }

  addLinks(): this {
    throw new Error('The service must pass links when a span begins')
  }

  recordException(): void {
    throw new Error('The service must not record exceptions, because their text may contain private data')
  }
}

class KeepsContext implements ContextManager {
  readonly #store = new AsyncLocalStorage<Context>()

  active(): Context {
    return this.#store.getStore() ?? ROOT_CONTEXT
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    inside: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#store.run(inside, () => work.apply(thisArg, args))
  }

  bind<T>(_inside: Context, target: T): T {
    return target
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#store.disable()
    return this
  }
}
