// What main.bicep is told of one process. Written by `hive-mind apply --render`.

@export()
type Variable = {
  name: string
  value: string
}

@export()
type SecretVariable = {
  @description('The variable that gets it.')
  variable: string
  @description('Its name in the key vault.')
  secret: string
}

@export()
type SecretFile = {
  @description('The name of the file in /etc/hive-mind-files.')
  file: string
  @description('Its name in the key vault.')
  secret: string
}

@export()
type PublicKeys = {
  @description('The name of the file in /etc/hive-mind-keys.')
  file: string
  @description('What is in it: nothing secret.')
  text: string
}

@export()
type Process = {
  @maxLength(32)
  app: string
  @description('The configuration of the worker, as JSON. It holds no secret.')
  config: string
  variables: Variable[]
  secrets: SecretVariable[]
  files: SecretFile[]
  @description('The secret in the key vault by which it proves who it is; empty where nobody has to.')
  key: string
  @description('Cores, such as 0.25.')
  cpu: string
  @description('Such as 0.5Gi: twice as many as cores.')
  memory: string
  @description('Subscriptions of its nodes on the topic; none where there is no Service Bus.')
  subscriptions: string[]
  @description('Its consumer group; none where there are no Event Hubs.')
  consumerGroups: string[]
}
