/** Handlers of `/admin/operators`, and of the link of the first operator. */
import { ServiceError } from '../../errors.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import { noticeCookie } from '../../http/dispatch/flash-messages.ts'
import type { FreshSignInDeps } from '../../http/dispatch/fresh-sign-in.ts'
import type { OperatorExchange, VisitorExchange } from '../../http/dispatch/route.ts'
import { type SignInRedirectDeps, toSignIn } from '../../http/dispatch/sign-in-redirect.ts'
import { acceptsPages } from '../../http/edge/accepts.ts'
import { cookie, cookieOf, endedCookie } from '../../http/edge/cookies/cookies.ts'
import type { Params } from '../../http/edge/params.ts'
import { type HttpResponse, redirect } from '../../http/edge/response.ts'
import { optional, stringField, type ValuesOf } from '../../json/fields.ts'
import type { OperatorActs } from '../../operator/operator-acts.ts'
import type { FirstOperator } from '../../sign-in/operators/first-operator.ts'
import type { Operators } from '../../sign-in/operators/operators.ts'
import { deviceOf } from '../../token/device.ts'
import type { ValidToken } from '../../token/tokens.ts'
import { errorText, explained } from '../shared/error-text.ts'
import { showPage } from '../shared/page.ts'
import { shownText } from '../shared/peer-names.ts'
import { formRefusal } from '../shared/refused-on-page.ts'
import { siteValues } from '../shared/site.ts'
import { momentOf } from '../shared/time.ts'
import type { View } from '../shared/values.ts'
import { type OperatorValuesDeps, operatorValuesOf } from './operator-values.ts'
import type { FirstOperatorValues, OperatorTeamValues } from './values.ts'

export interface TeamDeps extends OperatorValuesDeps, FreshSignInDeps, SignInRedirectDeps {
  readonly operators: Pick<Operators, 'configured' | 'stored' | 'candidate'>
  readonly operatorActs: OperatorActs
  readonly firstOperator: Pick<FirstOperator, 'require'>
  readonly pages: {
    readonly operatorTeam: View<OperatorTeamValues>
    readonly firstOperator: View<FirstOperatorValues>
  }
}

export const firstOperatorQuery = { code: optional(stringField('Of the link that the start printed')) }

export async function showTeam(
  deps: TeamDeps,
  exchange: OperatorExchange,
  refused: { readonly error: ServiceError; readonly typed: string } | null = null,
): Promise<HttpResponse> {
  const { operators, now, languages } = deps
  const { configured } = operators
  const stored = await operators.stored()
  const language = languages.of(exchange.request)
  const values = operatorValuesOf(deps, exchange)
  const page = deps.pages.operatorTeam({
    ...values,
    configured,
    stored: stored.map(({ name, addedAt, addedBy }) => ({
      name: shownText(name),
      added: momentOf(addedAt, now(), language.messages),
      added_by: shownText(addedBy),
      is_removable: configured.length + stored.length > 1,
    })),
    error: refused === null ? null : errorText(refused.error, language),
    typed: refused?.typed ?? '',
    form_action: `${values.root}/operators`,
  })
  return showPage(deps, exchange, page, refused?.error.status)
}

export async function changeTeam(deps: TeamDeps, exchange: OperatorExchange & Bodied<Params>): Promise<HttpResponse> {
  const { operatorActs, baseUrl } = deps
  const sent = await exchange.body()
  const name = sent.get('name') ?? ''
  const by = { ...exchange.operator, device: exchange.device }
  const action = sent.get('action')
  if (action !== 'add' && action !== 'remove') throw formRefusal('the action is unknown')
  try {
    await (action === 'add' ? operatorActs.add(name, by) : operatorActs.remove(name, by))
  } catch (error) {
    const isShown = error instanceof ServiceError && error.status < 500 && acceptsPages(exchange.request)
    if (!isShown || error.code === 'not_found') throw error
    return showTeam(deps, exchange, { error, typed: action === 'add' ? name : '' })
  }
  const notice = noticeCookie(action === 'add' ? 'operatorAdded' : 'operatorRemoved')
  return { ...redirect(302, `${baseUrl}/admin/operators`), cookies: [notice] }
}

/** Holds the code of the link while the person signs in, so that it is in no address. */
const codeCookie = '__Host-first-operator'
const codeSeconds = 3600

export async function showFirst(
  deps: TeamDeps,
  exchange: VisitorExchange<string, ValuesOf<typeof firstOperatorQuery>>,
): Promise<HttpResponse> {
  const { code } = exchange.query
  if (code === undefined) return showSignedIn(deps, exchange)
  await requireCode(deps, code)
  return showStep(deps, exchange, { step: 'explain', code })
}

async function showSignedIn(deps: TeamDeps, exchange: VisitorExchange): Promise<HttpResponse> {
  await requireCode(deps, cookieOf(exchange.request, codeCookie) ?? '')
  const { visitor } = exchange
  const session = await visitor.pageSession()
  if (session === null) return toSignIn(deps, exchange, { kind: 'none' }, false)
  const again = signInAgain(deps, session)
  const candidate = await deps.operators.candidate(session.chain)
  if (candidate === null) return showStep(deps, exchange, { step: 'unproven', sign_in_href: again })
  if (!deps.freshSignIn.isFreshSession(session.chain)) return redirect(302, again)
  const csrf = visitor.csrfToken ?? ''
  return showStep(deps, exchange, { step: 'confirm', candidate, csrf_token: csrf, sign_in_href: again })
}

/** Binds the code to the browser, or makes the person who signed in the operator. */
export async function changeFirst(deps: TeamDeps, exchange: VisitorExchange & Bodied<Params>): Promise<HttpResponse> {
  // A form of another site could bind the browser of a person to an account that the person did not choose.
  if (exchange.visitor.site !== 'same') throw new ServiceError('forged_request')
  const sent = await exchange.body()
  const code = sent.get('code')
  if (code !== undefined) {
    await requireCode(deps, code)
    return { ...redirect(302, `${deps.baseUrl}/admin/first`), cookies: [cookie(codeCookie, code, codeSeconds)] }
  }
  return begin(deps, exchange, sent.get('name') ?? '')
}

async function begin(deps: TeamDeps, exchange: VisitorExchange, shown: string): Promise<HttpResponse> {
  const { operators, operatorActs, freshSignIn, baseUrl } = deps
  const session = await exchange.visitor.pageSession()
  if (session === null) throw new ServiceError('unauthorized', 'Sign in first')
  if (!freshSignIn.isFreshSession(session.chain)) throw freshSignIn.refusal()
  const name = await operators.candidate(session.chain)
  if (name === null || name !== shown)
    throw new ServiceError('forbidden', 'Cannot make you the operator: the page showed another sign-in. Open it again.')
  const by = { actorId: session.chain.actorId, name, device: deviceOf(exchange.request.header('user-agent')) }
  await onPage(operatorActs.begin(cookieOf(exchange.request, codeCookie) ?? '', by))
  return { ...redirect(302, `${baseUrl}/admin`), cookies: [endedCookie(codeCookie), noticeCookie('operatorBegun')] }
}

function signInAgain({ freshSignIn, basePath }: TeamDeps, { chain }: ValidToken): string {
  return freshSignIn.address(chain.actorId, `${basePath}/admin/first`)
}

function requireCode({ firstOperator }: TeamDeps, code: string): Promise<void> {
  return onPage(firstOperator.require(code))
}

async function onPage(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'gone') throw error
    throw explained(error, ({ operator }) => operator.linkEnded)
  }
}

function showStep(
  deps: TeamDeps,
  exchange: VisitorExchange,
  step: Pick<FirstOperatorValues, 'step'> & Partial<FirstOperatorValues>,
): Promise<HttpResponse> {
  const page = deps.pages.firstOperator({
    ...siteValues(deps, deps.languages.of(exchange.request)),
    action: `${deps.basePath}/admin/first`,
    candidate: '',
    code: '',
    csrf_token: '',
    sign_in_href: '',
    ...step,
  })
  return showPage(deps, exchange, page)
}
