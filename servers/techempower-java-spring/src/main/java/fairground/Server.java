package fairground;

import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.hibernate.Version;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Starts Spring Boot with the database that the environment names. */
@SpringBootApplication
public class Server {
    public static void main(String[] arguments) {
        if (arguments.length > 0 && arguments[0].equals("--version")) {
            System.out.printf("Java %s, %s threads, Spring Boot %s, Hibernate %s%n", Runtime.version(),
                Runtime.version().feature() >= 21 ? "virtual" : "platform", SpringBootVersion.getVersion(),
                Version.getVersionString());
            return;
        }
        System.setProperty("jdk.virtualThreadScheduler.parallelism", System.getenv("WORKERS"));
        SpringApplication application = new SpringApplication(Server.class);
        application.setDefaultProperties(database());
        application.run(arguments);
    }

    /** JDBC's addresses hold no user and no password. */
    private static Map<String, Object> database() {
        URI url = URI.create(System.getenv("DATABASE_URL"));
        String[] user = url.getUserInfo().split(":", 2);
        Map<String, Object> properties = new HashMap<>();
        properties.put("spring.datasource.url", "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath());
        properties.put("spring.datasource.username", user[0]);
        properties.put("spring.datasource.password", user[1]);
        if ("off".equals(System.getenv("PREPARED"))) {
            properties.put("spring.datasource.hikari.data-source-properties.prepareThreshold", "0");
        }
        String wait = System.getenv().getOrDefault("POOL_WAIT_MS", "");
        // Hikari refuses less than 250 ms; 0 waits without a limit.
        properties.put("spring.datasource.hikari.connection-timeout", wait.isEmpty() ? 0 : Math.max(250, Integer.parseInt(wait)));
        return properties;
    }
}
