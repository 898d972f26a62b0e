/** `troupe mail test`: sends one message with the configured server, and prints the answer of the server. */
import { parseAddress } from '../actor/address.ts'
import { ConfigError } from '../config/config.ts'
import { sendTestMail } from '../features/mail/check.ts'
import { publicUrlOf } from './existing-store.ts'
import { print } from './output.ts'
import { UsageError } from './usage-error.ts'
import { commandConfig } from './project/known-project.ts'

export async function mailCommand(args: readonly string[]): Promise<number> {
  const [word, typed, ...more] = args
  const to = parseAddress(typed ?? '')
  if (word !== 'test' || to === null || more.length > 0)
    throw new UsageError('Cannot run troupe mail: expected an address, as in troupe mail test you@example.com')
  const config = commandConfig()
  const { smtpUrl, mailFrom } = config
  if (smtpUrl === null || mailFrom === null)
    throw new ConfigError('Cannot send mail: set TROUPE_SMTP_URL and TROUPE_MAIL_FROM.')
  const outcome = await sendTestMail({ smtpUrl, mailFrom, baseUrl: publicUrlOf(config) }, to)
  if (outcome.kind === 'sent') print(`The server accepted the message for ${to}: ${outcome.answer}`)
  else print(`The message for ${to} was not sent: ${outcome.reply ?? outcome.reason}`)
  return outcome.kind === 'sent' ? 0 : 1
}
