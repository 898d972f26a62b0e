/** The forms on the page of settings. */
import type { ServiceError } from '../../errors.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import { noticeCookie } from '../../http/dispatch/flash-messages.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { clearedSignedInMark } from '../../http/edge/cookies/cookies.ts'
import { SessionCookies } from '../../http/edge/cookies/session-cookies.ts'
import type { Params } from '../../http/edge/params.ts'
import { type HttpResponse, redirect } from '../../http/edge/response.ts'
import { stringText } from '../../json/json.ts'
import { isTimeZone, preferenceCookies, themeNamed } from '../languages/preferences.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { goOn } from '../shared/page.ts'
import { atField, formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { visible } from '../shared/visible.ts'
import { nameProperty } from './display-name.ts'
import { type SettingsPageDeps, showSettings } from './settings-page.ts'

type FormExchange = PageExchange & Bodied<Params>

export async function changeSettings(deps: SettingsPageDeps, exchange: FormExchange): Promise<HttpResponse> {
  const sent = await exchange.body()
  const show = (error: ServiceError): Promise<HttpResponse> =>
    showSettings(deps, exchange, error, {
      ...(sent.has('display_name') ? { name: sent.get('display_name') ?? '' } : {}),
      confirmation: sent.get('confirmation') ?? '',
    })
  return refusedOnPage(exchange, () => formOf(sent)(deps, exchange, sent), show)
}

type Change = (deps: SettingsPageDeps, exchange: PageExchange, sent: Params) => Promise<HttpResponse>

function formOf(sent: Params): Change {
  const changes: Readonly<Record<string, Change>> = {
    name: changeName,
    appearance: changeAppearance,
    delete: deleteActor,
  }
  const action = sent.get('action') ?? ''
  const change = Object.hasOwn(changes, action) ? changes[action] : undefined
  if (change === undefined) throw formRefusal('the action is neither name, appearance nor delete')
  return change
}

/** Stores the name as a property. An empty name removes the property. */
async function changeName(deps: SettingsPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const { actor, caller } = exchange
  const name = (sent.get('display_name') ?? '').trim()
  const version = sent.get('version')
  const expected = version === undefined ? {} : { expected: version }
  const access = { actor, caller }
  const request = { path: [nameProperty] }
  await atField('display_name', async () => {
    if (name === '') await deps.properties.remove(access, request, expected)
    else await deps.properties.put(access, request, stringText(name), { operation: 'put', ...expected })
  })
  return goOn(deps, exchange, sent, '/settings', 'saved')
}

async function changeAppearance(deps: SettingsPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const language = sent.get('language') ?? ''
  const theme = sent.get('theme') ?? ''
  const timeZone = sent.get('time_zone') ?? 'UTC'
  if (language !== '' && !deps.languages.offered.some(({ tag }) => tag === language))
    throw formRefusal('the pages do not have this language')
  if (theme !== '' && themeNamed(theme) === null) throw formRefusal('the theme is neither light nor dark')
  if (!isTimeZone(timeZone)) throw formRefusal('the time zone is not known')
  await deps.mail.setLanguage(
    exchange.actor.id,
    language === '' ? deps.languages.accepted(exchange.request.header('accept-language') ?? '').tag : language,
  )
  const answer = goOn(deps, exchange, sent, '/settings', 'saved')
  const chosen = preferenceCookies({
    language: language === '' ? null : language,
    theme: themeNamed(theme),
    timeZone: timeZone === 'UTC' ? null : timeZone,
  })
  return { ...answer, cookies: [...(answer.cookies ?? []), ...chosen] }
}

/** Deletes the actor. Deletion is irreversible, so the owner types the creator name as confirmation. */
async function deleteActor(deps: SettingsPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const { actor, request } = exchange
  const shown = visible(actor.creator)
  if (visible((sent.get('confirmation') ?? '').trim()).toLowerCase() !== shown.toLowerCase())
    throw pageRefusal(
      'bad_request',
      `Cannot delete the actor: what was typed is not “${shown}”`,
      ({ settings }) => settings.wrongConfirmation(shown),
      { field: 'confirmation' },
    )
  const own = await SessionCookies.of(deps.tokens, request)
  await deps.actorActs.delete(exchange)
  const cookies = [...own.cleared(), ...clearedSignedInMark(request), noticeCookie('accountDeleted')]
  return { ...redirect(302, `${deps.baseUrl}/`), cookies }
}
