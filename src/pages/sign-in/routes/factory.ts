/** `/`: the front page, and the creation of actors by API and by form. */
import { type Actor, parseActorId } from '../../../actor/actor.ts'
import type { Actors, Created, PassphraseJudge } from '../../../actor/actors.ts'
import type { Identity } from '../../../app/identity.ts'
import type { Presentation } from '../../languages/language.ts'
import { errorText } from '../../shared/error-text.ts'
import { inLanguage, type SiteDeps, siteValues } from '../../shared/site.ts'
import type { Config } from '../../../config/options.ts'
import { ServiceError } from '../../../errors.ts'
import {
  hintField,
  objectSchema,
  optional,
  readFields,
  readObject,
  refusedField,
  stringField,
  type ValuesOf,
} from '../../../json/fields.ts'
import { acceptsPages } from '../../../http/edge/accepts.ts'
import { type HttpResponse, html, json, redirect } from '../../../http/edge/response.ts'
import { readJsonOrForm } from '../../../http/edge/body.ts'
import type { HttpRequest } from '../../../http/edge/request.ts'
import type { PageSet } from '../../shared/page-set.ts'
import type { FactoryValues } from '../../shared/values.ts'
import { noticeOf, noticeShown } from '../../../http/dispatch/flash-messages.ts'
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import { jsonOf, type RequestBody } from '../../../http/dispatch/request-body.ts'
import type { Exchange, Route, VisitorExchange } from '../../../http/dispatch/route.ts'
import { createdActorSchema, errorResponses } from '../../../http/dispatch/schemas.ts'
import { pagePolicy } from '../../../http/edge/security-headers.ts'
import {
  beginAddress,
  configuredWebProviders,
  opensPagesByPassphrase,
  type ProviderTargetDeps,
  providerTargets,
  webProviders,
  type SignInRequest,
  withPassphrasePrompt,
} from '../../../http/dispatch/sign-in-address.ts'
import { type HomeDeps, homeOf, urlOf } from '../../../http/dispatch/urls.ts'
import type { FailedAttempts } from '../../../rate-limit/failed-attempts.ts'
import type { SignIn } from '../../../sign-in/sign-in.ts'
import { visible } from '../../shared/visible.ts'
import { indexPage } from '../../../spa/single-page.ts'

const what = 'create an actor'
const jsonFields = {
  creator: optional(stringField('Usually an e-mail address; "creator" when absent')),
  passphrase: optional(stringField('Random when absent')),
  trustee_root: optional(stringField('The address of the actor whose companion it is')),
}
const formFields = { ...jsonFields, email: optional(stringField('In place of `creator`')) }

type SentActor =
  | { readonly kind: 'json'; readonly fields: ValuesOf<typeof jsonFields> }
  | { readonly kind: 'form'; readonly fields: ValuesOf<typeof formFields> }
  | { readonly kind: 'none' }

const newActor: RequestBody<SentActor> = {
  content: {
    'application/json': objectSchema(jsonFields),
    'application/x-www-form-urlencoded': objectSchema(formFields),
  },
  read: async ({ request, bodyLimits }) => {
    const body = await readJsonOrForm(request, bodyLimits)
    if (body.kind === 'json') return { kind: 'json', fields: readObject(what, jsonFields, body.json) }
    if (body.kind === 'form')
      return { kind: 'form', fields: readFields(formFields, jsonOf(body.form), refusedField(what)) }
    if (body.kind === 'none') return body
    throw new ServiceError('invalid_json', `Cannot ${what}: the body is neither JSON nor a form`)
  },
}

const loginQuery = {
  redirect: optional(stringField('Path to continue to afterwards')),
  actor: optional(stringField('Actor whose page was requested')),
  fresh: hintField('`1`: the person proves again who they are', ['1']),
}

export interface FactoryRouteDeps extends HomeDeps, ProviderTargetDeps, SiteDeps {
  readonly actors: Pick<Actors, 'create'>
  readonly config: Pick<Config, 'mode' | 'webUi' | 'singlePage' | 'openCreation'>
  readonly identity: Identity
  readonly failedAttempts: FailedAttempts
  /** The old address of an actor from another service that waits for its owner. */
  readonly arrivalClaims: { waitingFrom(actorId: string): Promise<string | null> }
  readonly signIn: Pick<SignIn, 'targets'>
  readonly pages: Pick<PageSet, 'created' | 'factory'>
}

export function factoryRoutes(deps: FactoryRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'frontPage',
      method: 'GET',
      path: '/',
      access: 'visitor',
      page: true,
      summary: 'The front page: sign in, or create an actor',
      responses: { 200: { text: 'The page', type: 'text/html' }, 302: 'A signed-in person: to their own pages' },
      handler: (exchange) => home(deps, exchange),
    }),
    defineRoute({
      id: 'login',
      method: 'GET',
      path: '/login',
      access: 'visitor',
      page: true,
      summary: 'The sign-in page',
      query: loginQuery,
      responses: { 200: { text: 'The page', type: 'text/html' } },
      handler: async (exchange) =>
        isSinglePage(deps)
          ? indexPage(deps, exchange)
          : signInPage(deps, exchange.request, exchange.query, await exchange.visitor.actor()),
    }),
    defineRoute({
      id: 'createActor',
      method: 'POST',
      path: '/',
      access: 'service',
      page: true,
      takesForeignPosts: true,
      limit: ['create_actor/source', 'create_actor/total'],
      summary: 'Creates an actor',
      request: newActor,
      responses: {
        201: { text: 'The actor, its passphrase included', schema: createdActorSchema },
        302: 'To the provider, where one is configured and a form was sent',
        ...errorResponses(400, 403, 413, 415, 429),
      },
      handler: async (exchange) => create(deps, exchange, await exchange.body()),
    }),
  ]
}

/** Returns true when a single-page application replaces the sign-in page. */
function isSinglePage({ config }: FactoryRouteDeps): boolean {
  return !config.webUi && config.singlePage !== null
}

async function home(deps: FactoryRouteDeps, exchange: VisitorExchange): Promise<HttpResponse> {
  const { request, visitor } = exchange
  const person = acceptsPages(request) ? await visitor.actor() : null
  return person === null
    ? signInPage(deps, request, {}, null)
    : redirect(302, homeOf(deps, person.id), { Vary: 'Accept, Cookie' })
}

/** Shows the page where a person signs in, or continues as the person who is signed in. */
async function signInPage(
  deps: FactoryRouteDeps,
  request: HttpRequest,
  { actor: actorId, redirect: asked, fresh }: Partial<ValuesOf<typeof loginQuery>>,
  person: Actor | null,
): Promise<HttpResponse> {
  // A URL of another site is dropped here, and sign-in also refuses it.
  const target = asked === undefined ? null : deps.signIn.targets.parsePath(asked)
  const isOwn = actorId === undefined || actorId === person?.id
  const language = deps.languages.of(request)
  const { notices, front } = language.messages
  const isFresh = fresh === '1'
  const notice = noticeOf(request)
  const answer = await frontPage(deps, language, {
    wish: { actorId, redirect: target ?? undefined, isFresh },
    notice:
      person === null || isOwn
        ? ((notice && notices[notice]) ?? (await reasonToSignIn(deps, language, actorId, isFresh)))
        : front.otherOwner(visible(person.creator)),
    visitor:
      person === null || isFresh
        ? null
        : { name: visible(person.creator), href: isOwn && target !== null ? target : homeOf(deps, person.id) },
  })
  return notice === null ? answer : { ...answer, cookies: [noticeShown] }
}

/** The actor waits for the owner who moved it here, or an act needs a recent sign-in. */
async function reasonToSignIn(
  { arrivalClaims }: FactoryRouteDeps,
  { messages }: Presentation,
  actorId: string | undefined,
  isFresh: boolean,
): Promise<string | null> {
  const from = actorId === undefined ? null : await arrivalClaims.waitingFrom(actorId)
  if (from !== null) return messages.front.waits(visible(from))
  return isFresh ? messages.freshSignIn.needed : null
}

async function create(deps: FactoryRouteDeps, exchange: Exchange, sent: SentActor): Promise<HttpResponse> {
  const { request } = exchange
  const judge: PassphraseJudge = async (actor, isRight) =>
    deps.failedAttempts.judge('passphrase', actor, exchange.source, isRight)
  if (sent.kind === 'form') return createFromForm(deps, sent.fields, judge, request)
  if (sent.kind === 'none') {
    if (request.header('accept')?.includes('text/html') === true) return missingCreator(deps, request)
    refuseClosed(deps)
    return answerCreated(deps, await deps.actors.create({}, judge))
  }
  const { creator, passphrase, trustee_root: trusteeRoot } = sent.fields
  refuseClosed(deps)
  return answerCreated(deps, await deps.actors.create({ creator, passphrase, trusteeRoot }, judge))
}

/** Creates an actor from a form. A program that requests JSON gets the API response. */
async function createFromForm(
  deps: FactoryRouteDeps,
  form: ValuesOf<typeof formFields>,
  judge: PassphraseJudge,
  request: HttpRequest,
): Promise<HttpResponse> {
  const creator = form.creator ?? form.email
  if (request.header('accept')?.includes('application/json') === true) {
    const fields = { creator, passphrase: form.passphrase, trusteeRoot: form.trustee_root }
    refuseClosed(deps)
    return answerCreated(deps, await deps.actors.create(fields, judge))
  }
  if (creator === undefined || creator.trim() === '') return missingCreator(deps, request)
  const [provider] = configuredWebProviders(deps)
  // The provider verifies that the address belongs to the user.
  if (provider !== undefined) return redirect(302, beginAddress(deps, provider.name, { hint: creator }))
  const language = deps.languages.of(request)
  try {
    refuseClosed(deps)
    const { actor, passphrase } = await deps.actors.create({ creator })
    const values = {
      ...siteValues(deps, language),
      id: actor.id,
      url: urlOf(deps, actor.id),
      creator: actor.creator,
      passphrase,
    }
    return inLanguage(html(200, await deps.pages.created(values)), language)
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500)
      return frontPage(deps, language, {
        status: error.status,
        refused: { error: errorText(error, language), creator },
      })
    throw error
  }
}

/**
 * Refuses to create an actor for an anonymous request where creation is closed. That includes companions of other actors:
 * the caller who creates one has its passphrase, and may give it the name of a person later.
 *
 * @throws ServiceError `creation_closed`
 */
function refuseClosed(deps: FactoryRouteDeps): void {
  if (isCreationOpen(deps)) return
  throw new ServiceError(
    'creation_closed',
    `Cannot create an actor: this service creates actors at the first sign-in. Sign in at ${deps.baseUrl}/login`,
  )
}

function isCreationOpen(deps: FactoryRouteDeps): boolean {
  const { openCreation, mode } = deps.config
  return (
    // Passkeys are on without a setting, and let people sign in like written ones.
    openCreation ?? !(mode === 'production' && deps.providers.all.some(({ kind }) => kind !== 'local'))
  )
}

function missingCreator(deps: FactoryRouteDeps, request: HttpRequest): Promise<HttpResponse> {
  const language = deps.languages.of(request)
  return frontPage(deps, language, {
    status: 400,
    refused: { error: language.messages.front.enterEmail, creator: '' },
  })
}

interface FrontPage {
  readonly status?: number
  /** The destination of the sign-in. */
  readonly wish?: SignInRequest
  readonly notice?: string | null
  /** The signed-in user and the link to continue. */
  readonly visitor?: { readonly name: string; readonly href: string } | null
  /** The form that was sent, and why it was not taken. */
  readonly refused?: Pick<FactoryValues, 'error' | 'creator'>
}

async function frontPage(deps: FactoryRouteDeps, language: Presentation, shown: FrontPage): Promise<HttpResponse> {
  const { status = 200, wish = {}, notice = null, visitor = null, refused = { error: null, creator: '' } } = shown
  const providers = webProviders(deps).map(({ name, displayName }) => ({
    name,
    display_name: displayName,
    url: beginAddress(deps, name, wish),
  }))
  const values = {
    oauth_urls: Object.fromEntries(providers.map(({ name, url }) => [name, url])),
    oauth_providers: providers,
    oauth_enabled: providers.length > 0,
    ...siteValues(deps, language),
    description: deps.identity.description,
    notice,
    is_creation_open: isCreationOpen(deps),
    is_continuing: wish.redirect !== undefined,
    signed_in_as: visitor?.name ?? null,
    continue_url: visitor?.href ?? null,
    password_url: opensPagesByPassphrase(deps) && wish.actorId !== undefined ? passwordAddress(deps, wish) : null,
    ...refused,
  }
  // The form redirects to the provider.
  const answer = html(status, await deps.pages.factory(values), {
    'Content-Security-Policy': pagePolicy(
      deps.baseUrl,
      configuredWebProviders(deps).length > 0 ? providerTargets(deps) : [],
    ),
  })
  return inLanguage(answer, language)
}

/** A page of the actor, for which the browser asks for the passphrase; never the address that leads back to the sign-in page. */
function passwordAddress(deps: FactoryRouteDeps, { actorId = '', redirect = '' }: SignInRequest): string | null {
  const { basePath, config } = deps
  if (!config.webUi || parseActorId(actorId) === null) return null
  const pages = `${basePath}/${actorId}/www`
  return withPassphrasePrompt(deps, redirect.startsWith(`${pages}/`) ? redirect : pages)
}

function answerCreated(deps: FactoryRouteDeps, { actor, passphrase }: Created): HttpResponse {
  return json(
    201,
    {
      id: actor.id,
      creator: actor.creator,
      passphrase,
      trustee_root: actor.trusteeRoot ?? undefined,
    },
    { Location: urlOf(deps, actor.id) },
  )
}
