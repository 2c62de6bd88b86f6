# Sends COM_FIELD_LIST, and COM_INIT_DB right after it, which no client does.
#
#   perl field_list.pl SOCKET USER DATABASE TABLE OTHER_DATABASE [COMMAND]
#
# The user has no password. Prints the number of columns, and the answer to
# COM_INIT_DB. COMMAND is run between the two.
use strict;
use warnings;
use IO::Socket::UNIX;

my ($path, $user, $db, $table, $other_db, $command) = @ARGV;
$| = 1;
my $socket = IO::Socket::UNIX->new(Peer => $path) or die("$path: $!");

sub read_bytes {
  my ($length) = @_;
  my $bytes = '';
  while (length($bytes) < $length) {
    sysread($socket, $bytes, $length - length($bytes), length($bytes))
      or die('the server has closed the connection');
  }
  return $bytes;
}

sub read_packet {
  my ($low, $high, $number) = unpack('vCC', read_bytes(4));
  return read_bytes($low + ($high << 16));
}

sub send_packet {
  my ($number, $payload) = @_;
  syswrite($socket, pack('vCC', length($payload), 0, $number) . $payload);
}

sub is_error { return ord($_[0]) == 0xff; }

sub text_of_error {
  my ($number, $state, $text) = unpack('x v x a5 a*', $_[0]);
  return "ERROR $number ($state): $text\n";
}

read_packet();
# LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH
send_packet(1, pack('V V C x23 Z* C Z* Z*', 0x88209, 1 << 24, 255, $user, 0, $db,
                    'caching_sha2_password'));
my $answer = read_packet();
die(is_error($answer) ? text_of_error($answer) : 'another kind of authentication')
  if ord($answer) != 0;

send_packet(0, pack('C Z*', 4, $table));
my $columns = 0;
++$columns while ord($answer = read_packet()) < 0xfe;
die(text_of_error($answer)) if is_error($answer);
print("Columns of $table: $columns\n");
system($command) == 0 or die("$command: $?") if defined($command);

send_packet(0, pack('C a*', 2, $other_db));
$answer = read_packet();
print(is_error($answer) ? text_of_error($answer) : "Database changed\n");
